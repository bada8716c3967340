import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { BuildFailure } from './buildFailure.ts';
import type { Shell } from '../runtime/command.ts';

/** How to install a source's dependencies. */
export interface InstallPlan {
  readonly command: string;
  readonly cwd: string;
  readonly lockFile: string | undefined;
  readonly because: string;
}

export interface PlanContext {
  readonly shell: Shell;
  readonly signal: AbortSignal;
}

interface PackageManager {
  readonly tool: string;
  readonly lockFiles: readonly string[];
  /** Files that only this one reads, so that they decide without a lock file. */
  readonly ownFiles?: readonly string[];
  /** @throws BuildFailure if the installed tool is not of the version that the directory needs. */
  readonly command: (
    directory: string,
    surroundings: PlanContext,
    isLocked: boolean,
  ) => Promise<string> | string;
}

/** How long a package manager may take to print its version, in ms. One that is downloaded first takes longer. */
const VERSION_TIMEOUT_MS = 60_000;

const YARN_LOCK = 'yarn.lock';

/**
 * In order of precedence, if a source has several lock files and does not name its package manager. Each installs
 * exactly what its lock file has, or fails. Without one, pnpm and Yarn must be told that they may write it, because
 * builds set CI. pnpm and bun must not link files of their store into the source: an agent that writes to its
 * `node_modules` would change the files of all others. Agents run on plain Node, so imports need a `node_modules`, which
 * Yarn 2 and later create only on request.
 */
const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    tool: 'npm',
    lockFiles: ['package-lock.json', 'npm-shrinkwrap.json'],
    command: (_directory, _surroundings, isLocked) =>
      `npm ${isLocked ? 'ci' : 'install'} --prefer-offline --no-audit --no-fund`,
  },
  {
    tool: 'pnpm',
    lockFiles: ['pnpm-lock.yaml'],
    ownFiles: ['pnpm-workspace.yaml'],
    command: (_directory, _surroundings, isLocked) =>
      `pnpm install ${isLocked ? '--frozen-lockfile' : '--no-frozen-lockfile'} --prefer-offline --package-import-method=clone-or-copy`,
  },
  {
    tool: 'yarn',
    lockFiles: [YARN_LOCK],
    ownFiles: ['.yarnrc.yml', YARN_LOCK],
    command: async (directory, surroundings, isLocked) => {
      const needsModern = await needsModernYarn(directory, isLocked);
      if (await requireYarn(needsModern, isLocked, directory, surroundings))
        return `YARN_NODE_LINKER=node-modules yarn install ${isLocked ? '--immutable' : '--no-immutable'}`;
      return `yarn install ${isLocked ? '--frozen-lockfile ' : ''}--prefer-offline --non-interactive`;
    },
  },
  {
    tool: 'bun',
    lockFiles: ['bun.lock', 'bun.lockb'],
    command: (_directory, _surroundings, isLocked) =>
      `bun install ${isLocked ? '--frozen-lockfile ' : ''}--backend=copyfile`,
  },
];

/**
 * Decides how to install a source. `installCommand`, if set, runs from the source's root. Otherwise the package
 * manager whose lock file is in the root, or else in the graph configuration's directory. Without a lock file, the one
 * that `package.json` names in `packageManager`, or whose settings are there, else npm. Undefined if there is nothing to
 * install.
 * @throws BuildFailure if the package manager is not installed on this machine, or not in the version that the source
 * needs.
 */
export async function planInstall(
  root: string,
  configDir: string,
  installCommand: string | null | undefined,
  surroundings: PlanContext,
): Promise<InstallPlan | undefined> {
  if (installCommand != null && installCommand.trim() !== '') {
    const lockFile = lockFilesIn(root)[0]?.lockFile;
    return {
      command: installCommand,
      cwd: root,
      lockFile,
      because: 'it is the deployment’s install_command',
    };
  }
  const directories = [...new Set([root, configDir])];
  for (const choose of [byLockFile, withoutLockFile]) {
    for (const cwd of directories) {
      const choice = await choose(cwd);
      if (choice === undefined) continue;
      const { manager, lockFile, because } = choice;
      requireTool(manager.tool, because, surroundings);
      const command = await manager.command(cwd, surroundings, lockFile !== undefined);
      return { command, cwd, lockFile, because };
    }
  }
  return undefined;
}

interface Choice extends Pick<InstallPlan, 'lockFile' | 'because'> {
  readonly manager: PackageManager;
}

async function byLockFile(directory: string): Promise<Choice | undefined> {
  const found = lockFilesIn(directory);
  const named = found.length > 1 ? await packageManagerField(directory) : undefined;
  const chosen = found.find(({ manager }) => manager.tool === named?.tool) ?? found[0];
  const others = found.length > 1 ? `, before ${String(found.length - 1)} other lock file(s)` : '';
  return chosen && { ...chosen, because: `it has ${chosen.lockFile}${others}` };
}

async function withoutLockFile(directory: string): Promise<Choice | undefined> {
  const lockFile = undefined;
  const named = await packageManagerField(directory);
  const byName = PACKAGE_MANAGERS.find(({ tool }) => tool === named?.tool);
  if (byName !== undefined)
    return { manager: byName, lockFile, because: 'its package.json names it in packageManager' };
  for (const manager of PACKAGE_MANAGERS) {
    const ownFile = manager.ownFiles?.find((file) => existsSync(join(directory, file)));
    if (ownFile !== undefined) return { manager, lockFile, because: `it has ${ownFile}` };
  }
  const [npm] = PACKAGE_MANAGERS;
  if (npm === undefined || !existsSync(join(directory, 'package.json'))) return undefined;
  return { manager: npm, lockFile, because: 'it has package.json and no lock file' };
}

function lockFilesIn(directory: string): { manager: PackageManager; lockFile: string }[] {
  return PACKAGE_MANAGERS.flatMap((manager) =>
    manager.lockFiles
      .filter((lockFile) => existsSync(join(directory, lockFile)) && !isEmptyYarnLock(directory, lockFile))
      .map((lockFile) => ({ manager, lockFile })),
  );
}

/** Yarn's documentation has people create an empty one, to mark a project's root. It pins nothing. */
function isEmptyYarnLock(directory: string, lockFile: string): boolean {
  return lockFile === YARN_LOCK && readFileSync(join(directory, lockFile), 'utf8').trim() === '';
}

/** What package.json names in `packageManager` (`pnpm@9.1.0`). */
async function packageManagerField(directory: string): Promise<{ tool: string; major: number } | undefined> {
  const text = await readIfExists(join(directory, 'package.json'));
  const [, tool, major] = /"packageManager"\s*:\s*"([a-z]+)@(\d+)/.exec(text) ?? [];
  return tool === undefined ? undefined : { tool, major: Number(major) };
}

/**
 * Yarn 2 and later write a `__metadata` section to the lock file, and read their settings from `.yarnrc.yml`.
 * `undefined`: any Yarn will do.
 */
async function needsModernYarn(directory: string, isLocked: boolean): Promise<boolean | undefined> {
  if (isLocked) return /^__metadata:/m.test(await readIfExists(join(directory, YARN_LOCK)));
  const named = await packageManagerField(directory);
  if (named !== undefined) return named.major > 1;
  return existsSync(join(directory, '.yarnrc.yml')) ? true : undefined;
}

/**
 * Yarn 1 treats a later Yarn's lock file as empty, and installs the newest versions. A later Yarn refuses that of Yarn
 * 1 without a reason.
 * @returns Whether the directory's `yarn` is Yarn 2 or later.
 * @throws BuildFailure if the directory's `yarn` is the other, or does not run.
 */
async function requireYarn(
  needsModern: boolean | undefined,
  isLocked: boolean,
  cwd: string,
  { shell, signal }: PlanContext,
): Promise<boolean> {
  const lines: string[] = [];
  const end = await shell.run({
    command: 'yarn --version',
    cwd,
    env: shell.env,
    timeoutMs: VERSION_TIMEOUT_MS,
    signal,
    onLine: (line) => void lines.push(line),
    lineChars: 200,
  });
  signal.throwIfAborted();
  const version = lines.findLast((line) => /^\d+\.\d+\.\d+/.test(line));
  const runs = end.kind === 'exited' && end.code === 0 && version !== undefined;
  const isModern = version?.startsWith('1.') === false;
  if (runs && (needsModern === undefined || needsModern === isModern)) return isModern;
  const there = version === undefined ? `does not run: ${lines.slice(-3).join(' ')}` : `is ${version}`;
  const [needed, remedy] =
    needsModern === false
      ? [
          'Yarn 1',
          'Install the source with that Yarn and commit the new yarn.lock, or install Yarn 1 on the machine.',
        ]
      : [
          needsModern === true ? 'Yarn 2 or later' : 'Yarn',
          'Name the release in the source (yarnPath in .yarnrc.yml, with .yarn/releases in the artifact), or install corepack on the machine.',
        ];
  const form = isLocked ? ' (its yarn.lock is of that form)' : '';
  throw new BuildFailure(
    `The source needs ${needed}${form}, and the yarn of this machine ${there}. ${remedy}`,
  );
}

/** In a container the command itself fails. @throws BuildFailure if the program does not exist on this machine. */
function requireTool(tool: string, because: string, { shell }: PlanContext): void {
  if (shell.place !== undefined) return;
  const directories = (shell.env['PATH'] ?? '').split(delimiter);
  if (directories.some((directory) => existsSync(join(directory, tool)))) return;
  throw new BuildFailure(
    `The source needs ${tool} (${because}), which is not installed on this machine. Install it: npm install --global ${tool}. Or set install_command, for example to: npx --yes ${tool} install`,
  );
}

async function readIfExists(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : '';
}
