import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

import { list, type ReadEntry } from 'tar';
import { beforeEach, describe, expect, it } from 'vitest';

import {
  ARTIFACT_MAX_BYTES,
  packSource,
  type PackedSource,
  type PackOptions,
  tarStream,
} from '../../src/artifact/pack.ts';
import { sourceFiles } from '../../src/artifact/sourceFiles.ts';
import * as contract from '@slipway/contract/limits';
import { temporaryFolder, useFolders, writeFiles } from '../support/temporaryFolder.ts';

const root = useFolders();
let directory: string;

beforeEach(async () => {
  directory = await temporaryFolder();
});

describe('the bytes', () => {
  it('are the same from two checkouts with different times, modes, folders and creation order', async () => {
    await source({ 'b.ts': 'b', 'a/z.ts': 'z', 'a.ts': 'a', 'run.sh': 'echo' });
    await chmod(join(root(), 'run.sh'), 0o755);
    const first = await pack();

    const other = await temporaryFolder();
    await source({ 'run.sh': 'echo', 'a.ts': 'a', 'a/z.ts': 'z', 'b.ts': 'b' }, other);
    await mkdir(join(other, 'empty'));
    await chmod(join(other, 'run.sh'), 0o700);
    await chmod(join(other, 'a.ts'), 0o600);
    await utimes(join(other, 'b.ts'), new Date(1e12), new Date(1e12));
    const second = await pack({ root: other });

    expect(second.digest).toBe(first.digest);
    expect(await readFile(second.file)).toEqual(await readFile(first.file));
  });

  it('are the same on every machine: a changed digest here breaks joining releases', async () => {
    const text = Array.from(
      { length: 30_000 },
      (_, line) => `line ${line} of ${(line * 7919) % 1013}\n`,
    ).join('');
    await source({ 'agent.ts': text, 'src/ä.json': '{}', 'run.sh': 'echo' });
    await chmod(join(root(), 'run.sh'), 0o755);
    await symlink('agent.ts', join(root(), 'link.ts'));
    expect((await pack()).digest).toBe(
      'sha256:4df8b5009c76d91639418ca48a05cab47c34e295bbed8757336b922bccefa256',
    );
  });

  it('change with the content, the name and the executable bit', async () => {
    await source({ 'a.ts': 'a' });
    const digests = [(await pack()).digest];
    await chmod(join(root(), 'a.ts'), 0o755);
    digests.push((await pack()).digest);
    await source({ 'a.ts': 'b' });
    digests.push((await pack()).digest);
    await rm(join(root(), 'a.ts'));
    await source({ 'b.ts': 'b' });
    digests.push((await pack()).digest);
    expect(new Set(digests).size).toBe(4);
  });

  it('can be read by the system’s tar, with any length of a path and any size of a file', async () => {
    const long = `${'deep/'.repeat(60)}${'n'.repeat(120)}.ts`;
    const content = randomBytes(1_000_001);
    await source({ [long]: content, 'ümlaut.ts': 'x', 'none.ts': '' });
    await symlink('../none.ts', join(root(), 'deep/link.ts'));
    const packed = await pack();
    const unpacked = join(directory, 'unpacked');
    await mkdir(unpacked);
    execFileSync('tar', ['-xzf', packed.file, '-C', unpacked]);
    expect(content.equals(await readFile(join(unpacked, long)))).toBe(true);
    expect(await readFile(join(unpacked, 'ümlaut.ts'), 'utf8')).toBe('x');
    expect(await readFile(join(unpacked, 'deep/link.ts'), 'utf8')).toBe('');
  });
});

/** Files that the rules of the test below include or exclude. */
const PATHS =
  'a.log, keep.log, sub/keep.log, build/x.js, Build/x.js, sub/build/x.ts, lib/needed.ts, ' +
  'Lib/kept.ts, src/lib/x.ts, docs/draft.md, docs/a/b/draft-2.md, docs/a/final.md, abc, abbc, ' +
  'x.ts, z.ts, #hash, !bang, trailing, q/deep/a.bin, q/deep/r/a.bin, foo/x, foo/bar/y, sub/a.md, ' +
  'sub/a.ts, sub/deep/a.md, sub/deep/a.ts, ä/ö.log, ä/ö.ts';

describe('what a pack leaves out', () => {
  it('always includes secrets, installed packages, and git’s and Slipway’s own files', async () => {
    await source({
      '.slipwayignore': '!*',
      '.git/HEAD': '',
      'node_modules/x/index.js': '',
      'packages/a/node_modules/x/index.js': '',
      '.slipway/state': '',
      '.env': '',
      '.env.production': '',
      'packages/a/.ENV.local': '',
      'server.pem': '',
      id_rsa: '',
      'keys/id_ed25519': '',
      'cert.KEY': '',
      '.env.example': '',
      'id_rsa.pub': '',
      'environment.ts': '',
    });
    expect(await packedPaths()).toEqual(['.env.example', '.slipwayignore', 'environment.ts', 'id_rsa.pub']);
  });

  it('follows .slipwayignore before .gitignore', async () => {
    await source({
      '.gitignore': 'dist/\n',
      '.slipwayignore': '!dist/\ntest/\n*.md\n',
      'dist/a.js': '',
      'test/a.ts': '',
      'README.md': '',
      'docs/.slipwayignore': '!needed.md\n',
      'docs/needed.md': '',
    });
    expect(await packedPaths()).toEqual([
      '.gitignore',
      '.slipwayignore',
      'dist/a.js',
      'docs/.slipwayignore',
      'docs/needed.md',
    ]);
  });

  it('follows the configuration', async () => {
    await source({ 'a.ts': '', 'fixtures/big.bin': '', 'sub/fixtures/x': '' });
    expect(await packedPaths({ ignore: ['/fixtures'] })).toEqual(['a.ts', 'sub/fixtures/x']);
  });

  it('includes a package manager’s login, but not a file that only names the variable', async () => {
    await source({
      '.npmrc': 'engine-strict=true\n//registry.example/:_authToken=npm_secret\n',
      'a/.npmrc': '//registry.example/:_authToken=${NPM_TOKEN}\n',
      'b/.npmrc': '_auth = "c2VjcmV0"\n',
      'c/.npmrc': '# _authToken=later\nregistry=https://registry.example/\n',
      'd/.yarnrc.yml': 'npmAuthToken: "secret"\n',
      'e/.yarnrc.yml': 'npmAuthToken: "${NPM_TOKEN}"\n',
    });
    expect(await packedPaths()).toEqual(['a/.npmrc', 'c/.npmrc', 'e/.yarnrc.yml']);
  });

  it('includes what git ignores', async () => {
    await source({
      '.gitignore': [
        ...['*.log', '!/keep.log', '/build/', 'lib', '!lib/needed.ts', 'docs/**/draft*.md', 'a?c', '[xy].ts'],
        ...['\\#hash', '\\!bang', 'trailing ', '**/deep/*.bin', 'foo/*', '!foo/bar', '# a comment', ''],
      ].join('\n'),
      'sub/.gitignore': '*\n!*.ts\n!.gitignore\n',
      'sub/deep/.gitignore': '!*.md\n',
      ...Object.fromEntries(PATHS.split(', ').map((path) => [path, ''])),
    });
    execFileSync('git', ['init', '-q'], { cwd: root() });
    const settings = ['-c', 'core.excludesFile=', '-c', 'core.ignoreCase=false'];
    const others = ['ls-files', '-z', '-o', '--exclude-standard'];
    const git = execFileSync('git', [...settings, ...others], { cwd: root(), encoding: 'utf8' });
    expect(await packedPaths()).toEqual(git.split('\0').filter(Boolean).sort());
  });

  it('follows a .gitignore above the root, within the repository', async () => {
    await source({ '.gitignore': '*.log\n', 'repository/.git/HEAD': '', 'repository/.gitignore': 'dist/\n' });
    await source({ 'repository/agents/one/dist/a.js': '', 'repository/agents/one/a.log': '' });
    expect(await packedPaths({ root: join(root(), 'repository/agents/one') })).toEqual(['a.log']);
  });

  it('follows in a submodule its own .gitignore, and none of the repository above it', async () => {
    await source({
      '.git/HEAD': '',
      '.gitignore': 'dist/\n*.log\n',
      '.slipwayignore': '*.md\n',
      'a.log': '',
      'lib/.git': 'gitdir: ../.git/modules/lib\n',
      'lib/.gitignore': '*.tmp\n',
      'lib/a.tmp': '',
      'lib/a.md': '',
      'lib/dist/index.js': '',
      'lib/src/a.log': '',
    });
    expect(await packedPaths()).toEqual([
      '.gitignore',
      '.slipwayignore',
      'lib/.gitignore',
      'lib/dist/index.js',
      'lib/src/a.log',
    ]);
  });

  it('is all of a build’s output that the repository ignores, unless the configuration includes it', async () => {
    await source({ '.git/HEAD': '', '.gitignore': 'dist/\n', 'dist/a.js': '' });
    const output = { root: join(root(), 'dist') };
    await expect(pack(output)).rejects.toMatchObject({ hint: expect.stringContaining('ignore: ["!*"]') });
    expect(await packedPaths({ ...output, ignore: ['!*'] })).toEqual(['a.js']);
  });
});

describe('links', () => {
  it('inside the source are kept as links', async () => {
    await source({ 'a.ts': '', 'sub/b.ts': '' });
    await symlink('../a.ts', join(root(), 'sub/a.ts'));
    await symlink('sub', join(root(), 'again'));
    await symlink('nothing.ts', join(root(), 'dangling.ts'));
    const links = (await entriesOf(await pack())).filter(({ type }) => type === 'SymbolicLink');
    expect(links.map(({ path, linkpath }) => [path, linkpath])).toEqual([
      ['again', 'sub'],
      ['dangling.ts', 'nothing.ts'],
      ['sub/a.ts', '../a.ts'],
    ]);
  });

  it.each([
    ['upwards', '../outside.ts'],
    ['to an absolute path', '/etc/hostname'],
    ['to the folder above', '..'],
    ['upwards with backslashes', '..\\outside.ts'],
    ['to a drive', 'c:outside.ts'],
  ])('out of the source, %s, are rejected by name', async (_how, target) => {
    await source({ 'a.ts': '' });
    await symlink(target, join(root(), 'out.ts'));
    const packing = pack();
    await expect(packing).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNREADABLE', place: 'out.ts' });
    await expect(packing).rejects.toThrow(`leads out of the source, to ${target}`);
  });

  it('with ".." after a name are rejected by name, as the control plane rejects them', async () => {
    await source({ 'a/b/c.ts': '', 'd.ts': '' });
    await symlink('./../../d.ts', join(root(), 'a/b/up.ts'));
    await symlink('..', join(root(), 'a/b/folder'));
    await expect(pack()).resolves.toBeDefined();
    await symlink('b/../../d.ts', join(root(), 'a/round.ts'));
    await expect(pack()).rejects.toMatchObject({
      code: 'SLIPWAY_ARTIFACT_UNREADABLE',
      place: 'a/round.ts',
      hint: expect.stringContaining('../d.ts'),
    });
  });

  it('out of the source through another link are rejected', async () => {
    const outside = join(directory, 'outside');
    await mkdir(join(outside, 'x'), { recursive: true });
    await source({ 'a.ts': '', '.slipwayignore': 'hidden\n' });
    await symlink(outside, join(root(), 'hidden'));
    await symlink('hidden/x', join(root(), 'link'));
    await expect(pack()).rejects.toMatchObject({ place: 'link' });
  });
});

it('an artifact may be as large as the contract allows', () => {
  expect(ARTIFACT_MAX_BYTES).toBe(contract.ARTIFACT_MAX_BYTES);
});

describe('a source that cannot be packed', () => {
  it('is rejected over the limit, with its largest files, and leaves no files', async () => {
    await source({ 'small.ts': 'x', 'big.bin': randomBytes(3 << 20), 'bigger.bin': randomBytes(4 << 20) });
    const packing = pack({ maxBytes: 1 << 20 });
    await expect(packing).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_TOO_LARGE', exitCode: 1 });
    await expect(packing).rejects.toThrow(
      'larger than 1.0 MB; its biggest files: bigger.bin (4.0 MB), big.bin (3.0 MB), small.ts (0.0 MB)',
    );
    expect(await readdir(directory)).toEqual([]);
  });

  it('is rejected if its root is missing, is a file, or is empty', async () => {
    await source({ 'file.ts': '', 'empty/.git/HEAD': '' });
    for (const name of ['nowhere', 'file.ts', 'empty']) {
      await expect(pack({ root: join(root(), name) })).rejects.toMatchObject({
        code: 'SLIPWAY_ARTIFACT_UNREADABLE',
      });
    }
    await expect(pack({ root: join(root(), 'nowhere') })).rejects.toThrow(
      /nowhere could not be read: ENOENT: no such file or directory$/,
    );
  });

  it('is rejected if it contains something other than files, folders and links', async () => {
    await source({ 'a.ts': '' });
    execFileSync('mkfifo', [join(root(), 'pipe')]);
    await expect(pack()).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNREADABLE', place: 'pipe' });
  });

  it.skipIf(process.getuid?.() === 0)('is rejected, by its name, if a folder cannot be read', async () => {
    await source({ 'a.ts': '' });
    await mkdir(join(root(), 'data'), { mode: 0 });
    await expect(pack()).rejects.toThrow(/^data could not be read: EACCES: permission denied$/);
  });

  it('is rejected if a name is not UTF-8', async () => {
    await source({ 'a.ts': '' });
    await writeFile(Buffer.from(`${root()}/caf\xe9.txt`, 'latin1'), '');
    await expect(pack()).rejects.toThrow(/^caf\uFFFD\.txt has a name that is not UTF-8$/);
  });

  it.each(['\\a.ts', 'sub/..\\a.ts', 'a\\..', 'c:a.ts'])(
    'is rejected if the control plane would reject its name: %s',
    async (name) => {
      await source({ 'sub/a\\b.ts': '', 'sub/c:d': '' });
      await expect(pack()).resolves.toBeDefined();
      await source({ [name]: '' });
      await expect(pack()).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_UNREADABLE', place: name });
      await source({ '.slipwayignore': `/${name.replaceAll('\\', '\\\\')}\n` });
      await expect(pack()).resolves.toBeDefined();
    },
  );

  it('is rejected if its ignore rules cannot be read', async () => {
    await source({ 'a.ts': '', '.slipwayignore': Buffer.from('\uFEFFsecrets/\r\n', 'utf16le') });
    const problem = { code: 'SLIPWAY_ARTIFACT_UNREADABLE', place: '.slipwayignore' };
    await expect(pack()).rejects.toMatchObject(problem);
  });

  it.each(['.gitignore', '.slipwayignore', 'sub/.gitignore'])(
    'is rejected, and not waited for, if its ignore rules are a pipe: %s',
    async (name) => {
      await source({ 'a.ts': '', 'sub/b.ts': '' });
      execFileSync('mkfifo', [join(root(), name)]);
      const problem = { code: 'SLIPWAY_ARTIFACT_UNREADABLE', place: name };
      await expect(pack()).rejects.toMatchObject(problem);
    },
  );

  it('is rejected if a file changes during the read', async () => {
    await source({ 'b.ts': 'b' });
    const bytes = tarStream(root(), [{ kind: 'file', path: 'b.ts', sizeBytes: 0, executable: false }]);
    await expect(buffer(bytes)).rejects.toThrow('b.ts changed while it was read');
  });

  it('is abandoned when the command ends', async () => {
    await source({ 'a.ts': '', 'b.ts': '' });
    await expect(pack({ signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(await readdir(directory)).toEqual([]);
  });
});

interface Packing extends Partial<PackOptions> {
  readonly ignore?: readonly string[];
}

async function pack({ ignore = [], ...options }: Packing = {}): Promise<PackedSource> {
  const entries = await sourceFiles(options.root ?? root(), ignore);
  return packSource({ root: root(), entries, directory, ...options });
}

async function packedPaths(options: Packing = {}): Promise<string[]> {
  return (await entriesOf(await pack(options))).map(({ path }) => path);
}

async function entriesOf(packed: PackedSource): Promise<ReadEntry[]> {
  const entries: ReadEntry[] = [];
  await list({ file: packed.file, strict: true, onReadEntry: (entry) => entries.push(entry) });
  return entries;
}

function source(files: Record<string, string | Buffer>, into = root()): Promise<void> {
  return writeFiles(into, files);
}
