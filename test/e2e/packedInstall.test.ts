import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { BUILT_COMMAND } from '../support/builtCommand.ts';
import { FOR_SOME_SYSTEMS, type LockedRegistry, startLockedRegistry } from '../support/lockedRegistry.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Names of packages, one per line: what CI downloads for a release. */
const LIST = new URL('installed.txt', import.meta.url);

const { version: VERSION } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
};

let folder: string;
let packed: string;
let registry: LockedRegistry;

// If `dist/` is older than the sources, there is nothing to pack. `npm test` builds before it runs this.
describe.skipIf(BUILT_COMMAND === undefined)(
  'the packages, packed and installed into an empty folder',
  () => {
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'slipway-packed-'));
      packed = join(folder, 'packed');
      await mkdir(packed);
      registry = await startLockedRegistry();
      await npm(ROOT, 'pack', '--workspaces', '--include-workspace-root', '--pack-destination', packed);
      await writeFile(join(folder, 'package.json'), '{ "private": true }');
      await install(`slipway-${VERSION}.tgz`, `slipway-contract-${VERSION}.tgz`);
    });

    afterAll(async () => {
      await registry.close();
      await rm(folder, { recursive: true, force: true });
    });

    it('install for releases exactly the listed packages: no platform, no database, no LangGraph', async () => {
      const { names, bytes } = await installed();
      expect(`${names.join('\n')}\n`).toBe(await readFile(LIST, 'utf8'));
      expect(names.filter((name) => /platform|lang(chain|graph)|pglite|^pg|kysely|hono/.test(name))).toEqual(
        [],
      );
      expect(bytes / 1_048_576).toBeLessThan(LIMIT_MIB);
    });

    it.each([['dev'], ['demo'], ['platform'], ['agent', '.']])(
      'report with "slipway %s" in one line what to install',
      async (...command) => {
        const { code, stderr } = await slipway(...command);
        expect(stderr).toBe(
          'error SLIPWAY_PLATFORM_NOT_INSTALLED: this command needs the platform, which is not installed; install it: npm install @slipway/platform\n' +
            '  docs/errors.md#slipway_platform_not_installed\n',
        );
        expect(code).toBe(1);
      },
    );

    it('run a platform if it is installed too', async () => {
      await install(`slipway-platform-${VERSION}.tgz`);
      const platform = start('platform', '--port', '0', '--home', join(folder, 'home'), '--json');
      const exited = once(platform, 'exit');
      const [line] = (await once(createInterface({ input: platform.stdout! }), 'line')) as [string];
      expect(JSON.parse(line)).toMatchObject({ event: 'ready' });
      platform.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    });
  },
);

/** The measured size is 255 MiB, mostly Temporal's SDK and its bundler; with the platform 367 MiB. */
const LIMIT_MIB = 300;

async function install(...names: readonly string[]): Promise<void> {
  const files = names.map((name) => join(packed, name));
  await npm(folder, 'install', `--registry=${registry.url}`, `--cache=${join(folder, 'cache')}`, ...files);
}

/** Skips the packages' scripts: they build what is already built, or check for what a test does not need. */
async function npm(cwd: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)('npm', [...args, '--ignore-scripts', '--no-audit', '--no-fund'], { cwd });
}

async function installed(): Promise<{ readonly names: readonly string[]; readonly bytes: number }> {
  const modules = join(folder, 'node_modules');
  const { packages } = JSON.parse(await readFile(join(modules, '.package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, object>>;
  };
  const names = Object.keys(packages)
    .map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length))
    .filter((name) => !FOR_SOME_SYSTEMS.has(name));
  const files = (await readdir(modules, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const sizes = await Promise.all(files.map(async (file) => stat(join(file.parentPath, file.name))));
  return {
    names: [...new Set(names)].sort(),
    bytes: sizes.reduce((sum, { size }) => sum + size, 0),
  };
}

function start(...args: readonly string[]): ChildProcess {
  const bin = join(folder, 'node_modules/slipway/bin/slipway.js');
  return spawn(process.execPath, [bin, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
}

async function slipway(...args: readonly string[]): Promise<{ code: number | null; stderr: string }> {
  const child = start(...args);
  let stderr = '';
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stderr };
}
