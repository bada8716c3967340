import { access, constants, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { BuildFailure } from './buildFailure.ts';

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

interface PackageManager {
  readonly tool: string;
  readonly lockFiles: readonly string[];
  readonly command: (directory: string) => Promise<string> | string;
}

/** In the order in which they are looked for, where a source has several lock files and does not say which counts. */
const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    tool: 'npm',
    lockFiles: ['package-lock.json', 'npm-shrinkwrap.json'],
    command: () => 'npm ci --prefer-offline --no-audit --no-fund',
  },
  {
    tool: 'pnpm',
    lockFiles: ['pnpm-lock.yaml'],
    command: () => 'pnpm install --frozen-lockfile --prefer-offline',
  },
  {
    tool: 'yarn',
    lockFiles: ['yarn.lock'],
    command: async (directory) =>
      (await isModernYarn(directory))
        ? 'yarn install --immutable'
        : 'yarn install --frozen-lockfile --prefer-offline --non-interactive',
  },
  { tool: 'bun', lockFiles: ['bun.lock', 'bun.lockb'], command: () => 'bun install --frozen-lockfile' },
];

/**
 * Decides how a source is installed: by `installCommand`, run from the source's root; otherwise by the package
 * manager whose lock file is there, in the root or else beside the graph configuration; otherwise by npm where
 * there is a `package.json`. Undefined when there is nothing to install.
 *
 * @param path - PATH, as the command will see it.
 * @throws BuildFailure when the package manager is not installed on this machine.
 */
export async function planInstall(
  root: string,
  configDir: string,
  installCommand: string | null | undefined,
  path: string,
): Promise<InstallPlan | undefined> {
  if (installCommand != null && installCommand.trim() !== '') {
    const lockFile = (await lockFilesIn(root))[0]?.lockFile;
    return {
      command: installCommand,
      cwd: root,
      lockFile,
      because: 'it is the deployment’s install_command',
    };
  }
  for (const cwd of new Set([root, configDir])) {
    const plan = await detectIn(cwd);
    if (plan === undefined) continue;
    if (!(await isInstalled(plan.tool, path))) {
      throw new BuildFailure(
        `The source needs ${plan.tool} (${plan.because}), which is not installed on this machine.`,
      );
    }
    return plan;
  }
  return undefined;
}

async function detectIn(cwd: string): Promise<(InstallPlan & { tool: string }) | undefined> {
  const found = await lockFilesIn(cwd);
  const named = found.length > 1 ? await packageManagerField(cwd) : undefined;
  const chosen = found.find(({ manager }) => manager.tool === named) ?? found[0];
  if (chosen !== undefined) {
    const { manager, lockFile } = chosen;
    const others = found.length > 1 ? `, before ${String(found.length - 1)} other lock file(s)` : '';
    return {
      command: await manager.command(cwd),
      cwd,
      lockFile,
      because: `it has ${lockFile}${others}`,
      tool: manager.tool,
    };
  }
  if (!(await exists(join(cwd, 'package.json')))) return undefined;
  return {
    command: 'npm install --prefer-offline --no-audit --no-fund',
    cwd,
    lockFile: undefined,
    because: 'it has package.json and no lock file',
    tool: 'npm',
  };
}

async function lockFilesIn(directory: string): Promise<{ manager: PackageManager; lockFile: string }[]> {
  const found = [];
  for (const manager of PACKAGE_MANAGERS) {
    for (const lockFile of manager.lockFiles) {
      if (await exists(join(directory, lockFile))) found.push({ manager, lockFile });
    }
  }
  return found;
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

async function readIfThere(file: string): Promise<string> {
  return (await exists(file)) ? readFile(file, 'utf8') : '';
}

async function isInstalled(tool: string, path: string): Promise<boolean> {
  for (const directory of path.split(delimiter)) {
    if (await exists(join(directory, tool), constants.X_OK)) return true;
  }
  return false;
}

async function exists(file: string, mode: number = constants.F_OK): Promise<boolean> {
  return access(file, mode).then(
    () => true,
    () => false,
  );
}
