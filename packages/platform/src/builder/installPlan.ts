import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { BuildFailure } from './buildFailure.ts';
import { runShellCommand } from '../runtime/command.ts';

/** How a source's dependencies are installed. */
export interface InstallPlan {
  readonly command: string;
  /** Where it runs. */
  readonly cwd: string;
  /** The lock file beside it, if there is one. */
  readonly lockFile: string | undefined;
  /** Why this command: for the log. */
  readonly because: string;
}

/** The surroundings of what runs while an installation is planned. */
export interface PlanSurroundings {
  /** The environment that the command will have. */
  readonly env: Readonly<Record<string, string>>;
  /** Calls the planning off. */
  readonly signal: AbortSignal;
}

interface PackageManager {
  readonly tool: string;
  readonly lockFiles: readonly string[];
  /** @throws BuildFailure when the tool that is installed is of no use for the directory's lock file. */
  readonly command: (directory: string, surroundings: PlanSurroundings) => Promise<string> | string;
}

/** How long a package manager may take to print its version, in ms: one that is fetched first needs longer. */
const VERSION_TIMEOUT_MS = 60_000;

/**
 * In the order in which they are looked for, where a source has several lock files and does not say which counts.
 * Each installs exactly what its lock file says, or fails. pnpm and bun are kept from linking files of their store into
 * the source: an agent that writes into its `node_modules` would change the same files of all others. Agents run on
 * Node as it is, so what they import has to lie in a `node_modules`, which Yarn 2 and later make only when told to.
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
 * Decides how a source is installed: by `installCommand`, run from the source's root; otherwise by the package manager
 * whose lock file is there, in the root or else beside the graph configuration; otherwise by npm where there is a
 * `package.json`. Undefined when there is nothing to install.
 * @throws BuildFailure when the package manager is not installed on this machine, or not in a version that can read the
 *   lock file.
 */
export async function planInstall(
  root: string,
  configDir: string,
  installCommand: string | null | undefined,
  surroundings: PlanSurroundings,
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

async function byLockFile(cwd: string, surroundings: PlanSurroundings): Promise<InstallPlan | undefined> {
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
  const text = await readIfThere(join(directory, 'package.json'));
  return /"packageManager"\s*:\s*"([a-z]+)@/.exec(text)?.[1];
}

/** Yarn 2 and later, which writes a `__metadata` section into its lock file. */
async function isModernYarn(directory: string): Promise<boolean> {
  return /^__metadata:/m.test(await readIfThere(join(directory, 'yarn.lock')));
}

/**
 * Yarn 1 takes the lock file of a later Yarn for an empty one: it installs what is newest, and says that all is well.
 * The `yarn` of a source with `yarnPath`, or under corepack, is the one that the source names.
 * @throws BuildFailure when the `yarn` that the directory gets is Yarn 1, or does not run.
 */
async function requireModernYarn(cwd: string, { env, signal }: PlanSurroundings): Promise<void> {
  const lines: string[] = [];
  const end = await runShellCommand({
    command: 'yarn --version',
    cwd,
    env,
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

/** @throws BuildFailure when there is no such program. */
function requireTool(tool: string, because: string, { env }: PlanSurroundings): void {
  const directories = (env['PATH'] ?? '').split(delimiter);
  if (directories.some((directory) => existsSync(join(directory, tool)))) return;
  throw new BuildFailure(`The source needs ${tool} (${because}), which is not installed on this machine.`);
}

async function readIfThere(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'utf8') : '';
}
