import { existsSync } from 'node:fs';
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
  /** @throws BuildFailure if the installed tool cannot read the directory's lock file. */
  readonly command: (directory: string, surroundings: PlanContext) => Promise<string> | string;
}

/** How long a package manager may take to print its version, in ms. One that is downloaded first takes longer. */
const VERSION_TIMEOUT_MS = 60_000;

/**
 * In order of precedence, if a source has several lock files and does not name its package manager. Each installs
 * exactly what its lock file has, or fails. pnpm and bun must not link files of their store into the source: an agent
 * that writes to its `node_modules` would change the files of all others. Agents run on plain Node, so imports need a
 * `node_modules`, which Yarn 2 and later create only on request.
 */
const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    tool: 'npm',
    lockFiles: ['package-lock.json', 'npm-shrinkwrap.json'],
    command: () => 'npm ci --prefer-offline --no-audit --no-fund',
  },
  {
    tool: 'pnpm',
    lockFiles: ['pnpm-lock.yaml'],
    command: () => 'pnpm install --frozen-lockfile --prefer-offline --package-import-method=clone-or-copy',
  },
  {
    tool: 'yarn',
    lockFiles: ['yarn.lock'],
    command: async (directory, surroundings) => {
      if (!(await isModernYarn(directory)))
        return 'yarn install --frozen-lockfile --prefer-offline --non-interactive';
      await requireModernYarn(directory, surroundings);
      return 'YARN_NODE_LINKER=node-modules yarn install --immutable';
    },
  },
  {
    tool: 'bun',
    lockFiles: ['bun.lock', 'bun.lockb'],
    command: () => 'bun install --frozen-lockfile --backend=copyfile',
  },
];

/**
 * Decides how to install a source. `installCommand`, if set, runs from the source's root. Otherwise the package
 * manager whose lock file is in the root, or else in the graph configuration's directory. Otherwise npm, if there is
 * a `package.json`. Undefined if there is nothing to install.
 * @throws BuildFailure if the package manager is not installed on this machine, or its version cannot read the lock
 * file.
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
  for (const cwd of directories) {
    const plan = await byLockFile(cwd, surroundings);
    if (plan !== undefined) return plan;
  }
  for (const cwd of directories) {
    if (!existsSync(join(cwd, 'package.json'))) continue;
    const because = 'it has package.json and no lock file';
    requireTool('npm', because, surroundings);
    return {
      command: 'npm install --prefer-offline --no-audit --no-fund',
      cwd,
      lockFile: undefined,
      because,
    };
  }
  return undefined;
}

async function byLockFile(cwd: string, surroundings: PlanContext): Promise<InstallPlan | undefined> {
  const found = lockFilesIn(cwd);
  const named = found.length > 1 ? await packageManagerField(cwd) : undefined;
  const chosen = found.find(({ manager }) => manager.tool === named) ?? found[0];
  if (chosen === undefined) return undefined;
  const { manager, lockFile } = chosen;
  const others = found.length > 1 ? `, before ${String(found.length - 1)} other lock file(s)` : '';
  const because = `it has ${lockFile}${others}`;
  requireTool(manager.tool, because, surroundings);
  return { command: await manager.command(cwd, surroundings), cwd, lockFile, because };
}

function lockFilesIn(directory: string): { manager: PackageManager; lockFile: string }[] {
  return PACKAGE_MANAGERS.flatMap((manager) =>
    manager.lockFiles
      .filter((lockFile) => existsSync(join(directory, lockFile)))
      .map((lockFile) => ({ manager, lockFile })),
  );
}

/** The name in package.json's `packageManager` (`pnpm@9.1.0`). */
async function packageManagerField(directory: string): Promise<string | undefined> {
  const text = await readIfExists(join(directory, 'package.json'));
  return /"packageManager"\s*:\s*"([a-z]+)@/.exec(text)?.[1];
}

/** Yarn 2 and later write a `__metadata` section to the lock file. */
async function isModernYarn(directory: string): Promise<boolean> {
  return /^__metadata:/m.test(await readIfExists(join(directory, 'yarn.lock')));
}

/**
 * Yarn 1 treats a later Yarn's lock file as empty, and installs the newest versions.
 * @throws BuildFailure if the directory's `yarn` is Yarn 1 or does not run.
 */
async function requireModernYarn(cwd: string, { shell, signal }: PlanContext): Promise<void> {
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
  if (end.kind === 'exited' && end.code === 0 && version !== undefined && !version.startsWith('1.')) return;
  const there = version === undefined ? `does not run: ${lines.slice(-3).join(' ')}` : `is ${version}`;
  throw new BuildFailure(
    `The source needs Yarn 2 or later (its yarn.lock is of that form), and the yarn of this machine ${there}. Name the release in the source (yarnPath in .yarnrc.yml, with .yarn/releases in the artifact), or install corepack on the machine.`,
  );
}

/** In a container the command itself fails. @throws BuildFailure if the program does not exist on this machine. */
function requireTool(tool: string, because: string, { shell }: PlanContext): void {
  if (shell.place !== undefined) return;
  const directories = (shell.env['PATH'] ?? '').split(delimiter);
  if (directories.some((directory) => existsSync(join(directory, tool)))) return;
  throw new BuildFailure(`The source needs ${tool} (${because}), which is not installed on this machine.`);
}

async function readIfExists(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : '';
}
