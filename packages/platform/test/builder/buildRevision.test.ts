import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type BuildLimits, DEFAULT_BUILD_LIMITS } from '../../src/builder/buildLimits.ts';
import { type BuildOptions, type BuildResult, buildRevision } from '../../src/builder/buildRevision.ts';
import { CAN_READ_MEMORY } from '../../src/builder/resourceWatch.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';
import { isRunning, until, untilEnded } from '../runtime/liveness.ts';
import { archiveOf, writeSource } from './archives.ts';
import { withDependency } from './dependency.ts';
import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';

const BUILDER = fileURLToPath(new URL('fixtures/builder.ts', import.meta.url));
const GRAPH_JSON = JSON.stringify({ graphs: { agent: './agent.js:graph' } });
const AGENT = { 'graph.json': GRAPH_JSON, 'agent.js': 'export const graph = {};' };

let home: string;
let log: string[];

beforeEach(async () => (home = await temporaryFolder()));
// Makes builds fail if they use a registry: this one does not exist.
beforeEach(() => void vi.stubEnv('npm_config_registry', 'http://127.0.0.1:9'));
afterEach(() => void vi.unstubAllEnvs());

async function build(
  tree: Record<string, string | Buffer>,
  options: Partial<BuildOptions> = {},
): Promise<BuildResult> {
  const tarball = join(home, 'source.tar.gz');
  await writeSource(tarball, tree);
  log = [];
  const lines = log;
  return buildRevision({
    tarball,
    workspace: join(home, 'workspace'),
    graphConfigPath: 'graph.json',
    scratch: join(home, 'scratch'),
    cacheDir: join(home, 'cache'),
    log: (line) => void lines.push(line),
    signal: new AbortController().signal,
    ...options,
  });
}

async function reasonFor(
  tree: Record<string, string | Buffer>,
  options: Partial<BuildOptions> = {},
): Promise<string> {
  const result = await build(tree, options);
  expect(result.ok).toBe(false);
  return result.ok ? '' : result.reason;
}

describe('a source that builds', () => {
  it('is installed by npm, and from the cache if nothing has changed, with a copy for each revision', async () => {
    const first = await build(withDependency(AGENT), { workspace: join(home, 'one') });
    expect(log.join('\n')).toContain('npm ci --prefer-offline --no-audit --no-fund');
    expect(first).toEqual({ ok: true, agentDir: join(home, 'one'), graphConfigPath: 'graph.json' });
    const installed = join(home, 'one/node_modules/dep/index.js');
    expect(await readFile(installed, 'utf8')).toBe('export const answer = 42;');

    await writeFile(installed, 'changed while it ran');
    const second = await build(
      { ...withDependency(AGENT), 'agent.js': 'export const graph = { other: true };' },
      { workspace: join(home, 'two') },
    );
    expect(second.ok).toBe(true);
    expect(log.join('\n')).toContain('Installed from the cache');
    expect(log.join('\n')).not.toContain('$ npm ci');
    expect(await readFile(join(home, 'two/node_modules/dep/index.js'), 'utf8')).toBe(
      'export const answer = 42;',
    );
  });

  it('keeps no files of the machine in the cache, to which an install script put a link', async () => {
    const elsewhere = join(home, 'elsewhere');
    await mkdir(join(elsewhere, 'node_modules/secret'), { recursive: true });
    await writeFile(join(elsewhere, 'package.json'), '{}');
    const source = withDependency(AGENT, `cd "$INIT_CWD/.." && mv one two && ln -s '${elsewhere}' one`);
    const tree = Object.entries(source).map(([path, content]) => [`apps/one/${path}`, content] as const);
    await build(Object.fromEntries(tree), { graphConfigPath: 'apps/one/graph.json' });
    expect(log).toContain('$ npm ci --prefer-offline --no-audit --no-fund');
    expect(log.join('\n')).not.toContain('exit code');
    expect(existsSync(join(home, 'cache'))).toBe(false);
  });

  it('runs install_command in its root and build_command beside its graph configuration', async () => {
    const result = await build(
      { 'apps/one/graph.json': JSON.stringify({ graphs: { one: './dist/one.js:graph' } }) },
      {
        graphConfigPath: 'apps/one/graph.json',
        installCommand: 'pwd > installed-in',
        buildCommand: 'mkdir dist && touch dist/one.js && pwd > built-in',
      },
    );
    const workspace = join(home, 'workspace');
    expect(result).toEqual({
      ok: true,
      agentDir: join(workspace, 'apps/one'),
      graphConfigPath: 'graph.json',
    });
    expect(await readFile(join(workspace, 'installed-in'), 'utf8')).toBe(`${workspace}\n`);
    expect(await readFile(join(workspace, 'apps/one/built-in'), 'utf8')).toBe(`${workspace}/apps/one\n`);
  });

  it('may create its graph configuration during the build, and needs no package.json', async () => {
    const result = await build(
      { 'make.mjs': `import fs from 'node:fs'; fs.writeFileSync('graph.json', '${GRAPH_JSON}')` },
      { buildCommand: 'node make.mjs && touch agent.js' },
    );
    expect(result.ok).toBe(true);
    expect(log).toContain('There is no package.json, so nothing is installed.');
  });

  it('sees no secret of the platform, and no tools of the platform’s project', async () => {
    vi.stubEnv('PLATFORM_MASTER_KEY', 'master-of-all');
    const result = await build(AGENT, { buildCommand: 'env' });
    expect(result.ok).toBe(true);
    expect(log.join('\n')).not.toContain('master-of-all');
    expect(log.find((line) => line.startsWith('PATH='))).not.toContain('node_modules/.bin');
    expect(log).toContain('CI=1');
  });

  it('sees no files of an earlier build in its workspace', async () => {
    await mkdir(join(home, 'workspace'));
    await writeFile(join(home, 'workspace', 'left-over'), 'x');
    expect((await build(AGENT)).ok).toBe(true);
    expect(existsSync(join(home, 'workspace', 'left-over'))).toBe(false);
  });

  it('has a log bounded in lines and their length', async () => {
    const result = await build(AGENT, {
      buildCommand: `node -e "console.log('x'.repeat(1e6)); for (let i = 0; i < 1e5; i++) console.log(i)"`,
      limits: { ...DEFAULT_BUILD_LIMITS, logLines: 50, logLineChars: 100 },
    });
    expect(result.ok).toBe(true);
    expect(log).toHaveLength(50);
    expect(log.at(-1)).toBe('… The log has reached 50 lines. The rest is left out.');
    expect(Math.max(...log.map((line) => line.length))).toBeLessThan(120);
  });

  it('leaves no process of its commands running', async () => {
    await build(AGENT, { buildCommand: 'sleep 1000 & echo pid $!' });
    await untilEnded(pidIn(log));
  });
});

describe('a source that does not build', () => {
  it('has npm’s own message if the installation fails', async () => {
    const source = withDependency(AGENT);
    const lock = String(source['package-lock.json']).replace(/sha512-...../, 'sha512-WRONG');
    const reason = await reasonFor({ ...source, 'package-lock.json': lock });
    expect(reason).toContain(
      'The installation (`npm ci --prefer-offline --no-audit --no-fund`) ended with exit code 1',
    );
    expect(reason).toContain('EINTEGRITY');
    expect(log.join('\n')).toContain('EINTEGRITY');
    expect(existsSync(join(home, 'workspace'))).toBe(false);
  });

  const eat = `node -e "globalThis.eaten = Buffer.alloc(80 << 20, 1); setInterval(String, 1e6)"`;
  const LIMITS: [string, string, Partial<BuildLimits>, string, string][] = [
    [
      'the time of a command',
      'sleep 1000 & echo pid $!; wait',
      { commandTimeoutMs: 1_000 },
      'took longer than 1 s and was ended',
      'SLIPWAY_BUILD_COMMAND_TIMEOUT_SECONDS',
    ],
    [
      'the time of the whole build',
      'echo pid $$; exec sleep 1000',
      { buildTimeoutMs: 3_000 },
      'The build took longer than 3 s in all and was ended',
      'SLIPWAY_BUILD_TIMEOUT_SECONDS',
    ],
    [
      'the size of its workspace, while the command still runs',
      'head -c 20000000 /dev/urandom > large; echo pid $$; exec sleep 1000',
      { workspaceBytes: 10 * 1024 ** 2 },
      'filled its workspace with more than 10 MB',
      'SLIPWAY_BUILD_DISK_MB',
    ],
    [
      'the files of its workspace',
      'touch $(seq 60); echo pid $$',
      { workspaceFiles: 50 },
      'filled its workspace with more than 50 files',
      'SLIPWAY_BUILD_FILES',
    ],
  ];
  if (CAN_READ_MEMORY)
    LIMITS.push([
      'the memory of its processes together',
      `${eat} & echo pid $!; ${eat} & wait`,
      { memoryBytes: 150 * 1024 ** 2 },
      'took more than 150 MB of memory and was ended',
      'SLIPWAY_BUILD_MEMORY_MB',
    ]);

  it.each(LIMITS)(
    'reports that it exceeded %s, and leaves no files',
    async (_, buildCommand, limit, ...told) => {
      const reason = await reasonFor(AGENT, { buildCommand, limits: { ...DEFAULT_BUILD_LIMITS, ...limit } });
      for (const part of told) expect(reason).toContain(part);
      await untilEnded(pidIn(log));
      expect(existsSync(join(home, 'workspace'))).toBe(false);
    },
  );

  it('reports a corrupt archive', async () => {
    const tarball = join(home, 'bad.tar.gz');
    await writeFile(tarball, archiveOf([{ path: '../../evil' }]));
    expect(await reasonFor(AGENT, { tarball })).toBe(
      'The archive\'s entry "../../evil" has ".." in its path.',
    );
  });

  it.each([
    ['langgraph.json', 'graph.json'],
    ['graph.json', 'langgraph.json'],
  ])('falls back to its %s if the named %s does not exist', async (has, graphConfigPath) => {
    const result = await build({ [has]: GRAPH_JSON, 'agent.js': '' }, { graphConfigPath });
    expect(result).toMatchObject({ ok: true, graphConfigPath: has });
    expect(log).toContain(`The source has no ${graphConfigPath}: its ${has} is used instead.`);
  });

  it('uses the named graph configuration if it has both', async () => {
    const tree = { ...AGENT, 'langgraph.json': '{}' };
    expect(await build(tree)).toMatchObject({ ok: true, graphConfigPath: 'graph.json' });
  });

  it.each<[string, Record<string, string | Buffer>, string, string]>([
    ['is missing', { 'agent.js': '' }, 'graph.json', 'The source has no graph.json'],
    ['is a directory', { 'graph.json/x': '' }, 'graph.json', 'The source has no graph.json'],
    ['lies outside', AGENT, '../graph.json', 'is no file inside the source'],
    ['is named absolutely', AGENT, '/etc/passwd', 'is no file inside the source'],
    [
      'is no JSON',
      { 'graph.json': '{\n  "graphs": {,}\n}' },
      'graph.json',
      "graph.json is not valid JSON: Expected property name or '}' in JSON at line 2, column 14",
    ],
    [
      'is of another encoding',
      { 'graph.json': Buffer.from('\uFEFF{}', 'utf16le') },
      'graph.json',
      'graph.json is not valid JSON: it is not text in UTF-8',
    ],
    [
      'is too large to be read',
      { 'graph.json': ' '.repeat(1024 ** 2 + 1) },
      'graph.json',
      'graph.json is larger than 1 MB.',
    ],
    ['names no graph', { 'graph.json': '{"graphs":{}}' }, 'graph.json', 'graph.json is invalid: graphs:'],
    [
      'names no export',
      { 'graph.json': '{"graphs":{"a":"./agent.js"}}' },
      'graph.json',
      'graph.json is invalid: graphs.a: Input should be "./file:export"',
    ],
    [
      'names a file that is not there',
      { 'graph.json': '{"graphs":{"a":"./src/nothing.js:graph"}}' },
      'graph.json',
      'graph.json names "./src/nothing.js:graph" for graph "a", and there is no file "src/nothing.js"',
    ],
    [
      'names a Python graph',
      { 'graph.json': '{"graphs":{"a":"./agent.py:graph"}}', 'agent.py': '' },
      'graph.json',
      'graph.json: the graph "a" (./agent.py:graph) is written in Python, and the platform that Slipway includes runs JavaScript and TypeScript agents',
    ],
    [
      'asks for a newer Node',
      { ...AGENT, 'graph.json': JSON.stringify({ graphs: { a: './agent.js:graph' }, node_version: '999' }) },
      'graph.json',
      `graph.json asks for Node 999 or newer (node_version), and this platform runs agents on Node ${process.versions.node}. Start the platform with Node 999, or lower node_version.`,
    ],
  ])('reports that its graph configuration %s', async (_, tree, graphConfigPath, reason) => {
    expect(await reasonFor(tree, { graphConfigPath })).toContain(reason);
  });

  it('with an older Node than the platform’s is built, and its log notes it', async () => {
    const graphConfig = { graphs: { a: './agent.js:graph' }, node_version: '4' };
    expect(await build({ ...AGENT, 'graph.json': JSON.stringify(graphConfig) })).toMatchObject({ ok: true });
    expect(log).toContain(
      `graph.json asks for Node 4 (node_version). The platform builds and runs it on Node ${process.versions.node}.`,
    );
  });

  it('reports a graph’s file that is a link out of the source, made by a command', async () => {
    const reason = await reasonFor(
      { 'graph.json': GRAPH_JSON },
      { buildCommand: 'ln -s /etc/hostname agent.js' },
    );
    expect(reason).toContain('there is no file "agent.js" in the built source');
  });

  it('reports a full disk if a command does', async () => {
    const reason = await reasonFor(AGENT, {
      buildCommand: 'echo "write: No space left on device" >&2; seq 100; exit 1',
    });
    expect(reason).toMatch(/^The disk is full \(ENOSPC\)\. build_command/);
  });

  it('ends with a reason, without throwing, if its tarball cannot be read', async () => {
    expect(await reasonFor(AGENT, { tarball: join(home, 'nowhere.tar.gz') })).toContain('ENOENT');
  });
});

describe('a cancelled build', () => {
  it('reports it, and leaves no process and no files', async () => {
    const controller = new AbortController();
    const building = build(AGENT, {
      signal: controller.signal,
      buildCommand: 'sleep 1000 & echo pid $!; wait',
    });
    await until('the build command to run', () => log.some((line) => line.startsWith('pid ')));
    controller.abort();
    expect(await building).toEqual({ ok: false, reason: 'The build was canceled.' });
    await untilEnded(pidIn(log));
    expect(existsSync(join(home, 'workspace'))).toBe(false);
  });

  it('stops during unpacking', async () => {
    const controller = new AbortController();
    const result = await build(
      { ...AGENT, large: 'x'.repeat(20_000_000) },
      { signal: controller.signal, log: () => controller.abort() },
    );
    expect(result).toEqual({ ok: false, reason: 'The build was canceled.' });
    expect(existsSync(join(home, 'workspace'))).toBe(false);
  });

  it('does not start if it was cancelled before', async () => {
    expect(await reasonFor(AGENT, { signal: AbortSignal.abort() })).toBe('The build was canceled.');
  });
});

describe('a builder', () => {
  it('stops its commands when it is killed', async () => {
    const tarball = join(home, 'source.tar.gz');
    await writeSource(tarball, AGENT);
    const command = 'sleep 1000 & echo pid $!; wait';
    const builder = spawn(
      process.execPath,
      [...FROM_SOURCE, BUILDER, tarball, join(home, 'workspace'), join(home, 'cache'), command],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let said = '';
    builder.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await until('the build command to run', () => /^log pid \d+$/m.test(said));
    const pid = Number(/^log pid (\d+)$/m.exec(said)![1]);
    expect(isRunning(pid)).toBe(true);
    builder.kill('SIGKILL');
    await untilEnded(pid);
  });

  // Mounts a file system of 1 MiB that only this test sees. Needs Linux and permission to create a namespace.
  const canMount =
    process.platform === 'linux' &&
    spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
  it.skipIf(!canMount)('reports a full disk as the reason', async () => {
    const tarball = join(home, 'source.tar.gz');
    const disk = join(home, 'disk');
    await mkdir(disk);
    await writeSource(tarball, { ...AGENT, 'large.bin': 'x'.repeat(3 * 1024 * 1024) });
    const { stdout } = spawnSync(
      'unshare',
      [
        ...['-rm', 'sh', '-c', 'mount -t tmpfs -o size=1m tmpfs "$1" && shift && exec "$@"', 'sh', disk],
        ...[process.execPath, ...FROM_SOURCE, BUILDER, tarball, join(disk, 'workspace'), join(disk, 'cache')],
      ],
      { encoding: 'utf8' },
    );
    const result = JSON.parse(/^result (.*)$/m.exec(stdout)![1]!) as { ok: boolean; reason: string };
    expect(result.ok).toBe(false);
    expect(result.reason).toMatch(/^The disk is full \(ENOSPC\)/);
  });
});

function pidIn(lines: readonly string[]): number {
  return Number(lines.find((line) => line.startsWith('pid '))!.slice('pid '.length));
}
