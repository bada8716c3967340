import { cp, mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { InstallPlan } from '../../src/builder/installPlan.ts';
import { type CopyDirectory, NodeModulesCache } from '../../src/builder/nodeModulesCache.ts';
import { useFolders } from '../../../../test/support/temporaryFolder.ts';

const home = useFolders();
let cacheDir: string;
const copy: CopyDirectory = (from, to) => cp(from, to, { recursive: true });

beforeEach(() => {
  cacheDir = join(home(), 'cache');
});

async function installed(name: string, content: string): Promise<string> {
  const directory = join(home(), name);
  await mkdir(directory);
  await writeFile(join(directory, 'index.js'), content);
  return directory;
}

async function keyOf(
  files: Record<string, string>,
  options: Partial<InstallPlan> = {},
): Promise<string | undefined> {
  const cwd = await mkdtemp(join(home(), 'source-'));
  const all = { 'package.json': '{}', 'package-lock.json': '{}', ...files };
  for (const [name, content] of Object.entries(all)) await writeFile(join(cwd, name), content);
  return new NodeModulesCache(cacheDir, copy).keyOf({
    command: 'npm ci --prefer-offline',
    cwd,
    lockFile: 'package-lock.json',
    because: '',
    ...options,
  });
}

describe('the key of an installation', () => {
  it('is the same for the same files in another directory', async () => {
    expect(await keyOf({ 'agent.js': 'one' })).toBe(await keyOf({ 'agent.js': 'two' }));
  });

  it.each([
    ['the lock file', { 'package-lock.json': '{"a":1}' }, {}],
    ['package.json', { 'package.json': '{"a":1}' }, {}],
    ['.npmrc', { '.npmrc': 'legacy-peer-deps=true' }, {}],
    ['.pnpmfile.cjs', { '.pnpmfile.cjs': 'module.exports = {}' }, {}],
    ['the command', {}, { command: 'npm ci --omit=dev' }],
  ])('changes with %s', async (_, files, plan) => {
    const key = await keyOf(files, plan);
    expect(key).toBeDefined();
    expect(key).not.toBe(await keyOf({}));
  });

  it.each([
    'pnpm install --frozen-lockfile --prefer-offline --package-import-method=clone-or-copy',
    'yarn install --frozen-lockfile --prefer-offline --non-interactive',
    'bun install --frozen-lockfile --backend=copyfile',
    'npm ci',
  ])('exists for `%s`', async (command) => {
    expect(await keyOf({}, { command })).toBeDefined();
  });

  it.each<[string, Record<string, string>, Partial<InstallPlan>]>([
    ['without a lock file', {}, { lockFile: undefined }],
    ['by a command that does more', {}, { command: 'npm ci && npm run generate' }],
    ['by a command that installs elsewhere', {}, { command: 'npm ci --prefix=web' }],
    ['by a command of unknown meaning', {}, { command: 'make deps' }],
    ['with an install script of its own', { 'package.json': '{"scripts":{"postinstall":"x"}}' }, {}],
    ['with workspaces', { 'package.json': '{"workspaces":["a"]}' }, {}],
    ['with a linked directory', { 'package-lock.json': '{"node_modules/a":{"link": true}}' }, {}],
    ['with a patch of a dependency', { 'package.json': '{"patchedDependencies":{"a@1.0.0":"a.patch"}}' }, {}],
    ['with workspaces of pnpm', { 'pnpm-workspace.yaml': 'packages:\n  - apps/*\n' }, {}],
    [
      'installed by Yarn 2 or later',
      { 'yarn.lock': '__metadata:\n  version: 8\n\n"agent@workspace:.":\n  version: 0.0.0-use.local\n' },
      { command: 'YARN_NODE_LINKER=node-modules yarn install --immutable', lockFile: 'yarn.lock' },
    ],
    ['with a native module of its own', { 'binding.gyp': '' }, {}],
  ])('does not exist for a source %s: it is installed each time', async (_, files, plan) => {
    expect(await keyOf(files, plan)).toBeUndefined();
  });
});

describe('cached installations', () => {
  it('are restored over existing files', async () => {
    const cache = new NodeModulesCache(cacheDir, copy);
    const to = join(home(), 'to');
    expect(await cache.restore('key', to)).toBe(false);
    await cache.store('key', await installed('from', 'one'));
    await mkdir(to);
    await writeFile(join(to, 'old.js'), '');
    expect(await cache.restore('key', to)).toBe(true);
    expect(await readdir(to)).toEqual(['index.js']);
  });

  it('stay unchanged if another build stores the same, later or at the same time', async () => {
    const cache = new NodeModulesCache(cacheDir, copy);
    const sources = await Promise.all(['a', 'b', 'c', 'd'].map((name) => installed(name, name)));
    await Promise.all(sources.map((from) => cache.store('key', from)));
    const kept = await readFile(join(cacheDir, 'key/index.js'), 'utf8');
    await cache.store('key', await installed('later', 'later'));
    expect(await readFile(join(cacheDir, 'key/index.js'), 'utf8')).toBe(kept);
    expect(await readdir(cacheDir)).toEqual(['key']);
  });

  it('are complete: a failed copy leaves nothing', async () => {
    const broken = new NodeModulesCache(cacheDir, async (from, to) => {
      await copy(from, to);
      throw Object.assign(new Error('no space left'), { code: 'ENOSPC' });
    });
    await expect(broken.store('key', await installed('from', 'x'))).rejects.toThrow('no space left');
    expect(await readdir(cacheDir)).toEqual([]);
    await new NodeModulesCache(cacheDir, copy).store('key', join(home(), 'from'));
    await expect(broken.restore('key', join(home(), 'to'))).rejects.toThrow('no space left');
    expect(await readdir(home())).not.toContain('to');
  });

  it('count as missing if they are removed during a copy', async () => {
    await new NodeModulesCache(cacheDir, copy).store('key', await installed('from', 'x'));
    const slow = new NodeModulesCache(cacheDir, async (from) => {
      await rm(from, { recursive: true });
      throw new Error('no such file');
    });
    expect(await slow.restore('key', join(home(), 'to'))).toBe(false);
  });

  it('are evicted after eight newer ones; files of a killed process are removed after an hour', async () => {
    const cache = new NodeModulesCache(cacheDir, copy);
    const from = await installed('from', 'x');
    const past = (minutes: number) => new Date(Date.now() - minutes * 60_000);
    for (let i = 1; i <= 8; i += 1) {
      await cache.store(`key${String(i)}`, from);
      await utimes(join(cacheDir, `key${String(i)}`), past(100 - i), past(100 - i));
    }
    await mkdir(join(cacheDir, '.abandoned'));
    await utimes(join(cacheDir, '.abandoned'), past(90), past(90));
    await mkdir(join(cacheDir, '.under-way'));
    await cache.restore('key1', join(home(), 'to'));
    await cache.store('key9', from);
    expect((await readdir(cacheDir)).sort()).toEqual(
      ['.under-way', ...[1, 3, 4, 5, 6, 7, 8, 9].map((i) => `key${String(i)}`)].sort(),
    );
  });
});
