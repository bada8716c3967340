import { execFileSync } from 'node:child_process';
import { appendFile, lstat, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { packSource } from '../../../../src/artifact/pack.ts';
import { sourceFiles } from '../../../../src/artifact/sourceFiles.ts';
import { runPackCommand } from '../../../../src/cli/commands/artifact/pack.ts';
import type { CommandContext } from '../../../../src/cli/context.ts';
import { testOutput } from '../../testOutput.ts';
import { temporaryFolder, useFolders, writeFiles } from '../../../support/temporaryFolder.ts';

const folder = useFolders();
beforeEach(async () => {
  await writeFile(join(folder(), 'graph.json'), '{}');
  await writeFile(
    join(folder(), 'slipway.yaml'),
    'targets:\n  a: { controlPlane: "http://localhost:1", apiKey: { from: "env:KEY" }, deployment: greeter }\n',
  );
});

function contextOf(output: ReturnType<typeof testOutput>): CommandContext {
  return { output, home: join(folder(), '.slipway'), environment: {} };
}

const config = () => join(folder(), 'slipway.yaml');

describe('slipway pack', () => {
  it('prints the digest that a release of it would have', async () => {
    const output = testOutput({ json: true });
    await runPackCommand(contextOf(output), { config: config() });
    const packed = await packSource({ root: folder(), entries: await sourceFiles(folder(), []) });
    await packed.remove();
    expect(output.events).toEqual([
      { event: 'packed', artifact: packed.digest, sizeBytes: packed.sizeBytes, entries: 2, file: null },
    ]);
  });

  it('lists the packed files, in order', async () => {
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config(), list: true });
    expect(output.said.slice(0, 2)).toEqual(['graph.json', 'slipway.yaml']);
    expect(output.said[2]).toMatch(/^sha256:[0-9a-f]{64} \(1 KB, 2 files\)$/);
  });

  it('packs only what it lists and searches for secrets', async () => {
    await writeFile(join(folder(), 'credentials.json'), '{}');
    await appendFile(config(), 'artifact: { ignore: [credentials.json] }\n');
    const output = testOutput({ json: true });
    await runPackCommand(contextOf(output), { config: config(), list: true, strict: true });
    expect(output.events).toMatchObject([
      ...['graph.json', 'slipway.yaml'].map((path) => ({ event: 'entry', path })),
      { event: 'packed', entries: 2 },
    ]);
  });

  it('lists a name with control characters on one line, without them', async () => {
    const output = testOutput();
    await writeFile(join(folder(), 'a\u001b[31m\nb'), '');
    await runPackCommand(contextOf(output), { config: config(), list: true });
    expect(output.said[0]).toBe(String.raw`a\x1b[31m\x0ab`);
  });

  it('writes the tarball to the given path', async () => {
    const output = testOutput({ json: true });
    const file = join(folder(), 'out', 'source.tar.gz');
    await runPackCommand(contextOf(output), { config: config(), output: file });
    expect(output.events.at(-1)).toMatchObject({ file });
    expect((await readFile(file)).subarray(0, 2).toString('hex')).toBe('1f8b');
  });

  it('warns of a tarball that the next release would pack', async () => {
    const output = testOutput();
    const link = join(await temporaryFolder(), 'link');
    await symlink(folder(), link);
    const [packed, linked] = [join(folder(), 'source.tar.gz'), join(link, 'source.tar.gz')];
    for (const file of [packed, join(folder(), '.slipway/source.tar.gz'), linked])
      await runPackCommand(contextOf(output), { config: config(), output: file });
    expect(output.noted.filter((line) => line.includes('is in the source'))).toEqual(
      [packed, linked].map(
        (file) => `${file} is in the source: a release packs it too, and has another digest`,
      ),
    );
  });

  it('leaves a device in place if it cannot write to it', async () => {
    const output = join(folder(), 'node_modules', 'device');
    await mkdir(join(folder(), 'node_modules'));
    await symlink('/dev/full', output);
    const writing = runPackCommand(contextOf(testOutput()), { config: config(), output });
    await expect(writing).rejects.toThrow(/could not be written to .*device: ENOSPC/);
    expect((await lstat(output)).isSymbolicLink()).toBe(true);
  });

  it('reports why it cannot write', async () => {
    const output = join(folder(), 'graph.json', 'source.tar.gz');
    await expect(runPackCommand(contextOf(testOutput()), { config: config(), output })).rejects.toMatchObject(
      { code: 'SLIPWAY_USAGE', place: '--output' },
    );
  });

  it('warns of suspected secrets, and packs', async () => {
    await writeFile(join(folder(), 'credentials.json'), '{}');
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted[0]).toContain('credentials.json (credentials of a service)');
  });

  it('warns of a repository that git refuses, and packs', async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: folder() });
    vi.stubEnv('GIT_TEST_ASSUME_DIFFERENT_OWNER', '1');
    vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    vi.unstubAllEnvs();
    expect(output.noted[0]).toContain('another user owns it');
    expect(output.noted[1]).toMatch(/git config --global --add safe\.directory \S+$/);
  });

  it('warns of a file that it leaves out because of a login', async () => {
    await writeFiles(folder(), { '.npmrc': 'registry=https://r.example/\n//r.example/:_authToken=secret\n' });
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted[0]).toMatch(/login of a package registry: \.npmrc$/);
  });

  it('warns of pointers of Git LFS, and packs', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n';
    const files = { 'model.bin': pointer, 'fetched.bin': 'model', 'notes.md': pointer };
    await writeFiles(folder(), { ...files, '.gitattributes': '*.bin filter=lfs\n' });
    for (const words of ['init -q', 'add .']) execFileSync('git', words.split(' '), { cwd: folder() });
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted[0]).toMatch(/in place of files: model\.bin$/u);
  });

  it('warns of what git knows of a submodule that was not fetched with its own', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n';
    await writeFiles(folder(), { 'lib/model.bin': pointer, 'lib/.gitattributes': '*.bin filter=lfs\n' });
    await mkdir(join(folder(), 'lib/deep'));
    const git = (cwd: string, ...words: string[]) => execFileSync('git', words, { cwd: join(folder(), cwd) });
    for (const repository of ['', 'lib']) git(repository, 'init', '--quiet');
    git('lib', 'add', '.');
    git('lib', 'update-index', '--add', '--cacheinfo', `160000,${'1'.repeat(40)},deep`);
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted.join('\n')).toMatch(
      /submodules: lib\/deep$[^]*in place of files: lib\/model\.bin$/mu,
    );
  });

  it('warns of submodules that were not fetched, but not of ignored ones, and packs', async () => {
    execFileSync('git', ['init', '--quiet'], { cwd: folder() });
    for (const path of ['lib', 'sub/tools', 'ignored', 'fetched']) {
      await mkdir(join(folder(), path), { recursive: true });
      const entry = `160000,${'1'.repeat(40)},${path}`;
      execFileSync('git', ['update-index', '--add', '--cacheinfo', entry], { cwd: folder() });
    }
    await mkdir(join(folder(), 'empty'));
    await writeFiles(folder(), { 'fetched/a.ts': '', '.slipwayignore': 'ignored/\n' });
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted[0]).toMatch(/lacks the files of git submodules: lib, sub\/tools$/u);
  });

  it('warns of what a sparse checkout leaves out, but not of ignored or removed files, and packs', async () => {
    const names = [
      'docs/a.md',
      'lib/b.ts',
      'lib/own/c.ts',
      'lib/h.ts',
      'lib/own/notes/d',
      'src/.env',
      'src/e.ts',
      'src/f.ts',
    ];
    await writeFiles(folder(), Object.fromEntries(names.map((name) => [name, ''])));
    await writeFiles(folder(), { '.slipwayignore': 'docs/\n', 'lib/own/.slipwayignore': 'notes\n' });
    for (const words of [
      'init -q',
      'add .',
      '-c user.name=a -c user.email=a@b.c commit -qm one',
      'sparse-checkout set --no-cone /slipway.yaml /graph.json /.slipwayignore /lib /src/f.ts !/lib/h.ts',
    ])
      execFileSync('git', words.split(' '), { cwd: folder() });
    for (const name of ['lib/b.ts', 'lib/own/notes/d']) await rm(join(folder(), name));
    const output = testOutput();
    await runPackCommand(contextOf(output), { config: config() });
    expect(output.noted[0]).toMatch(/sparse checkout leaves out: lib\/h\.ts, src\/e\.ts$/u);
    expect(output.noted[1]).toContain('git sparse-checkout disable');
  });

  it('prints an event for each file, and for each suspicion', async () => {
    await writeFile(join(folder(), 'credentials.json'), '{}');
    const output = testOutput({ json: true });
    await runPackCommand(contextOf(output), { config: config(), list: true });
    expect(output.events).toMatchObject([
      ...['credentials.json', 'graph.json', 'slipway.yaml'].map((path) => ({ event: 'entry', path })),
      { event: 'suspected_secret', path: 'credentials.json', line: null },
      { event: 'packed', entries: 3 },
    ]);
  });

  it('rejects it with --strict', async () => {
    await writeFile(join(folder(), 'credentials.json'), '{}');
    await expect(
      runPackCommand(contextOf(testOutput()), { config: config(), strict: true }),
    ).rejects.toMatchObject({ code: 'SLIPWAY_ARTIFACT_HOLDS_SECRET', place: 'credentials.json' });
  });
});
