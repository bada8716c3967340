import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { planInstall } from '../../src/builder/installPlan.ts';
import { runShellCommand } from '../../src/runtime/command.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';

let root: string;
let path: string;

beforeEach(async () => {
  const home = await temporaryFolder();
  root = join(home, 'source');
  path = join(home, 'bin');
  await mkdir(root);
  await mkdir(path);
  for (const tool of ['npm', 'pnpm', 'bun']) await writeFile(join(path, tool), '', { mode: 0o755 });
  await yarnPrints('4.1.0');
});

const yarnPrints = (version: string) =>
  writeFile(join(path, 'yarn'), `#!/bin/sh\necho ${version}`, { mode: 0o755 });

async function plan(files: Record<string, string>, installCommand?: string | null, configDir = root) {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), content);
  }
  const shell = { env: { PATH: `${path}:/usr/bin:/bin` }, run: runShellCommand };
  return planInstall(root, configDir, installCommand, { shell, signal: new AbortController().signal });
}

describe('how a source is installed', () => {
  it.each([
    ['package-lock.json', '{}', 'npm ci --prefer-offline --no-audit --no-fund'],
    ['npm-shrinkwrap.json', '{}', 'npm ci --prefer-offline --no-audit --no-fund'],
    [
      'pnpm-lock.yaml',
      '',
      'pnpm install --frozen-lockfile --prefer-offline --package-import-method=clone-or-copy',
    ],
    ['yarn.lock', '__metadata:\n  version: 8', 'YARN_NODE_LINKER=node-modules yarn install --immutable'],
    ['bun.lock', '', 'bun install --frozen-lockfile --backend=copyfile'],
    ['bun.lockb', '', 'bun install --frozen-lockfile --backend=copyfile'],
    ['package.json', '{}', 'npm install --prefer-offline --no-audit --no-fund'],
  ])('follows from its %s (%j): %s', async (name, content, command) => {
    expect(await plan({ 'package.json': '{}', [name]: content })).toMatchObject({ command, cwd: root });
  });

  it.each([
    ['4.1.0', 'YARN_NODE_LINKER=node-modules yarn install --no-immutable'],
    ['1.22.22', 'yarn install --prefer-offline --non-interactive'],
  ])(
    'takes an empty yarn.lock for the choice of Yarn, in the version of this machine: %s',
    async (yarn, command) => {
      await yarnPrints(yarn);
      expect(await plan({ 'package.json': '{}', 'yarn.lock': '\n' })).toMatchObject({ command });
    },
  );

  it('follows from the yarn.lock of Yarn 1', async () => {
    await yarnPrints('1.22.22');
    expect(await plan({ 'package.json': '{}', 'yarn.lock': '# yarn lockfile v1' })).toMatchObject({
      command: 'yarn install --frozen-lockfile --prefer-offline --non-interactive',
    });
  });

  const PNPM = 'pnpm install --no-frozen-lockfile --prefer-offline --package-import-method=clone-or-copy';
  const MODERN_YARN = 'YARN_NODE_LINKER=node-modules yarn install --no-immutable';

  it.each([
    ['pnpm@9.15.9', '4.1.0', PNPM],
    ['yarn@4.9.2', '4.1.0', MODERN_YARN],
    ['yarn@1.22.22', '1.22.22', 'yarn install --prefer-offline --non-interactive'],
    ['bun@1.2.0', '4.1.0', 'bun install --backend=copyfile'],
    ['npm@11.0.0', '4.1.0', 'npm install --prefer-offline --no-audit --no-fund'],
    ['other@1.0.0', '4.1.0', 'npm install --prefer-offline --no-audit --no-fund'],
  ])('without a lock file follows packageManager: %s', async (packageManager, yarn, command) => {
    await yarnPrints(yarn);
    expect(await plan({ 'package.json': JSON.stringify({ packageManager }) })).toMatchObject({
      command,
      lockFile: undefined,
    });
  });

  it.each([
    ['pnpm-workspace.yaml', PNPM],
    ['.yarnrc.yml', MODERN_YARN],
  ])('without a lock file follows the settings of a package manager: %s', async (name, command) => {
    const configDir = join(root, 'apps/one');
    const files = { [name]: '', 'apps/one/package.json': '{}' };
    expect(await plan(files, null, configDir)).toMatchObject({ command, cwd: root });
  });

  it('is skipped without a package.json', async () => {
    expect(await plan({ 'agent.js': '' })).toBeUndefined();
  });

  it('prefers install_command, unless it is empty', async () => {
    expect(await plan({ 'package-lock.json': '{}' }, 'make deps')).toMatchObject({
      command: 'make deps',
      cwd: root,
      lockFile: 'package-lock.json',
    });
    expect(await plan({}, ' ')).toMatchObject({ command: 'npm ci --prefer-offline --no-audit --no-fund' });
  });

  it('follows packageManager if there are several lock files', async () => {
    const files = {
      'package-lock.json': '{}',
      'yarn.lock': '__metadata:',
      'package.json': '{"packageManager":"yarn@4.1.0"}',
    };
    expect(await plan(files)).toMatchObject({ lockFile: 'yarn.lock' });
  });

  it('happens beside the graph configuration if the root has nothing to install', async () => {
    const configDir = join(root, 'apps/one');
    expect(await plan({ 'apps/one/package-lock.json': '{}' }, null, configDir)).toMatchObject({
      cwd: configDir,
    });
  });

  it('prefers a lock file beside the graph configuration to a package.json in the root', async () => {
    const configDir = join(root, 'apps/one');
    const files = { 'package.json': '{}', 'apps/one/package.json': '{}', 'apps/one/bun.lock': '' };
    expect(await plan(files, null, configDir)).toMatchObject({ cwd: configDir, lockFile: 'bun.lock' });
  });

  it.each([
    ['is Yarn 1', 'echo 1.22.22', 'is 1.22.22'],
    ['does not run', 'echo no release >&2; exit 1', 'does not run: no release'],
  ])('fails if it needs a later Yarn and the machine’s %s', async (_, script, told) => {
    await writeFile(join(path, 'yarn'), `#!/bin/sh\n${script}`);
    await expect(plan({ 'package.json': '{}', 'yarn.lock': '__metadata:\n  version: 8' })).rejects.toThrow(
      `The source needs Yarn 2 or later (its yarn.lock is of that form), and the yarn of this machine ${told}.`,
    );
  });

  it('fails if it needs Yarn 1 and the machine’s is later', async () => {
    await expect(plan({ 'package.json': '{}', 'yarn.lock': '# yarn lockfile v1' })).rejects.toThrow(
      'The source needs Yarn 1 (its yarn.lock is of that form), and the yarn of this machine is 4.1.0.',
    );
  });

  it('fails without a lock file, too, if packageManager names another Yarn than the machine’s', async () => {
    await yarnPrints('1.22.22');
    await expect(plan({ 'package.json': '{"packageManager":"yarn@4.9.2"}' })).rejects.toThrow(
      'The source needs Yarn 2 or later, and the yarn of this machine is 1.22.22.',
    );
  });

  it('fails, naming the tool and the file that requires it, if the tool is missing', async () => {
    await rm(join(path, 'pnpm'));
    await expect(plan({ 'package.json': '{}', 'pnpm-lock.yaml': '' })).rejects.toThrow(
      'The source needs pnpm (it has pnpm-lock.yaml), which is not installed on this machine. Install it: npm install --global pnpm.',
    );
  });
});
