import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

import { FOR_SOME_SYSTEMS } from '../../../test/support/lockedRegistry.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const ACTION = 'packages/action';
const UNRELEASED = '# Changelog\n\n## Unreleased\n';
const RELEASED = `# Changelog\n\n## ${version} (2026-01-01)\n`;

interface Checkout {
  readonly folder: string;
  /** Installs with an `npm` that records its arguments and its environment, and returns what it recorded. */
  readonly install: (env?: Readonly<Record<string, string>>) => string;
}

/** A copy of what the scripts read, with other notes. */
function checkout(notes: string): Checkout {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-ci-install-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const path of [ACTION, 'package.json', 'package-lock.json']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, 'CHANGELOG.md'), notes);
  mkdirSync(join(folder, 'dist'));
  const calls = join(folder, 'dist/calls');
  const npm = join(folder, 'dist/npm');
  writeFileSync(npm, `#!/bin/sh\n{ echo "npm $*"; env; } >> '${calls}'\n`);
  chmodSync(npm, 0o755);
  return {
    folder,
    install: (env = {}) => {
      rmSync(calls, { force: true });
      execFileSync('bash', [join(folder, ACTION, 'install.sh')], {
        env: { PATH: `${join(folder, 'dist')}:${process.env['PATH'] ?? ''}`, HOME: folder, ...env },
      });
      return existsSync(calls) ? readFileSync(calls, 'utf8') : '';
    },
  };
}

const commandsIn = (calls: string): string[] => calls.match(/^npm .*/gm) ?? [];
const CI = 'npm ci --ignore-scripts --no-audit --no-fund';

it('a job installs a released version from npm, in the versions of the lock file, and builds nothing', () => {
  const { folder, install } = checkout(RELEASED);
  expect(commandsIn(install())).toEqual([CI]);
  const lock = JSON.parse(readFileSync(join(folder, ACTION, '.tool/package-lock.json'), 'utf8')) as {
    packages: Record<string, { version?: string; dependencies?: object }>;
  };
  expect(lock.packages['']?.dependencies).toEqual({ slipway: version, '@slipway/contract': version });
  expect(lock.packages['node_modules/slipway']).toMatchObject({ version });
  expect(lock.packages['node_modules/zod']).toHaveProperty('integrity');
});

it('a job builds what is not released, and installs that', () => {
  const { folder, install } = checkout(UNRELEASED);
  expect(commandsIn(install())).toEqual([
    CI,
    'npm run build -- --no-types',
    `npm pack --silent --ignore-scripts --workspace packages/contract --include-workspace-root --pack-destination ${folder}/packages/action/.tool`,
    CI,
  ]);
  const manifest = readFileSync(join(folder, ACTION, '.tool/package.json'), 'utf8');
  expect(manifest).toContain(`"slipway":"file:slipway-${version}.tgz"`);
});

it('a job installs without its secrets, with the settings of the registry', () => {
  const calls = checkout(UNRELEASED).install({
    SLIPWAY_API_KEY: 'secret-1',
    TEMPORAL_API_KEY: 'secret-2',
    GITHUB_TOKEN: 'secret-3',
    npm_config_registry: 'https://npm.example.com',
    HTTPS_PROXY: 'http://proxy:8080',
  });
  expect(calls).not.toContain('secret-');
  expect(calls).toContain('npm_config_registry=https://npm.example.com\n');
  expect(calls).toContain('HTTPS_PROXY=http://proxy:8080\n');
});

it('a job installs nothing if the cache has it, and anew if a file changed', () => {
  const { folder, install } = checkout(RELEASED);
  install();
  expect(install()).toBe('');
  writeFileSync(join(folder, ACTION, 'another'), '');
  expect(commandsIn(install())).toHaveLength(1);
});

it('what a job installs is exactly the list of what "npm install slipway" brings', () => {
  const { folder } = checkout(RELEASED);
  const wanted = [`slipway@${version}`, `@slipway/contract@${version}`];
  execFileSync(process.execPath, [join(folder, ACTION, 'writeLock.mjs'), join(folder, 'dist'), ...wanted]);
  const list = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
    cwd: join(folder, 'dist'),
    encoding: 'utf8',
  });
  const { components } = JSON.parse(list) as { readonly components: readonly { readonly name: string }[] };
  const names = components.map(({ name }) => name).filter((name) => !FOR_SOME_SYSTEMS.has(name));
  const expected = readFileSync(join(ROOT, 'test/e2e/installed.txt'), 'utf8').trim().split('\n');
  expect([...new Set(names)].sort()).toEqual(expected);
});

it('the steps of the action find, install and run the command that a job asks for', () => {
  const { folder } = checkout(RELEASED);
  const { runs } = parse(readFileSync(join(ROOT, ACTION, 'action.yml'), 'utf8')) as {
    readonly runs: { readonly steps: readonly { readonly run?: string }[] };
  };
  const [find, install, command, ...more] = runs.steps.flatMap(({ run }) => run ?? []);
  expect(more).toEqual([]);
  const output = join(folder, 'dist/output');
  const step = (script: string | undefined): string =>
    execFileSync('bash', ['-e', '-c', script ?? ''], {
      encoding: 'utf8',
      env: {
        PATH: `${join(folder, 'dist')}:${process.env['PATH'] ?? ''}`,
        HOME: folder,
        GITHUB_ACTION_PATH: join(folder, ACTION),
        GITHUB_OUTPUT: output,
        SLIPWAY_INPUT_COMMAND: 'status',
      },
    });
  step(find);
  expect(readFileSync(output, 'utf8')).toMatch(
    new RegExp(`^path=${folder}/packages/action/\\.tool\\nkey=slipway-[0-9a-f]{40}\\n$`),
  );
  step(install);
  const bin = join(folder, ACTION, '.tool/node_modules/slipway/bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'slipway.js'), 'console.log(process.argv.slice(2).join())');
  expect(step(command)).toBe('status\n');
});
