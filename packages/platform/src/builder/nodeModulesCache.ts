import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

import { parsedJson } from '@slipway/contract/json';

import type { InstallPlan } from './installPlan.ts';

/** How many installations to keep: the most recently used. */
const MAX_ENTRIES = 8;
/** The age, in ms, after which an unfinished entry counts as left behind by a killed process. */
const ABANDONED_AFTER_MS = 60 * 60_000;

/** Install commands that create only `node_modules` in their directory. */
const PLAIN_INSTALL =
  /^(npm (ci|clean-install|install|i)|pnpm (install|i)|yarn( install)?|bun (install|i))( --?[a-z][\w-]*(=[\w.-]+)?)*$/i;
const OTHER_DIRECTORY_OPTION = / (--(prefix|dir|cwd|global|location)\b|-[Cg]\b)/;
/** Scripts of the source that package managers run on install. They may write anything, anywhere. */
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
];
/** Marks in lock files of dependencies that are directories of the source. Each may have its own `node_modules`. */
const LINKED_DEPENDENCY = /"link":\s*true|\b(link|portal|workspace):|\bfile:(?!\S*\.t(ar\.)?gz\b)/;
/** The files besides the lock file that affect an installation. */
const CONFIGURATION = [
  'package.json',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  'pnpm-workspace.yaml',
  '.pnpmfile.cjs',
  'bunfig.toml',
];

/** Copies a whole directory, as `cp -a` does. Rejects if it fails; leaves no process behind. */
export type CopyDirectory = (from: string, to: string) => Promise<void>;

/**
 * A cache of installed `node_modules`, so that the next build with the same dependencies copies them instead of
 * installing.
 *
 * Entries are copies, not hard links: a build or a running agent that writes to its `node_modules` must not change
 * those of other revisions. A rename creates an entry completely or not at all, so concurrent builds and killed
 * processes leave no partial one. If a concurrent build was faster, the copy is dropped.
 */
export class NodeModulesCache {
  readonly #directory: string;
  readonly #copy: CopyDirectory;

  constructor(directory: string, copy: CopyDirectory) {
    this.#directory = directory;
    this.#copy = copy;
  }

  /**
   * The key of an installation: command, lock file, `package.json`, the package managers' configuration, Node's
   * version, this machine's kind, and the place of the commands. Undefined if these do not determine the result: no
   * lock file, a command or scripts that may do more than install, workspaces, linked directories, patches of Bun. Yarn
   * 2 and later are excluded on purpose (their lock files list the source itself as a workspace), because their
   * commands need state outside `node_modules`.
   */
  async keyOf(plan: InstallPlan, place?: string): Promise<string | undefined> {
    const command = plan.command.trim();
    if (plan.lockFile === undefined) return undefined;
    if (!PLAIN_INSTALL.test(command) || OTHER_DIRECTORY_OPTION.test(command)) return undefined;
    const lock = await contentOf(join(plan.cwd, plan.lockFile));
    const manifest = await contentOf(join(plan.cwd, 'package.json'));
    if (LINKED_DEPENDENCY.test(lock) || hasInstallSideEffects(manifest)) return undefined;
    if (existsSync(join(plan.cwd, 'binding.gyp'))) return undefined;
    if (/^packages:/m.test(await contentOf(join(plan.cwd, 'pnpm-workspace.yaml')))) return undefined;
    const configuration = await Promise.all(CONFIGURATION.map((name) => contentOf(join(plan.cwd, name))));
    const parts = [
      command,
      process.version,
      process.platform,
      process.arch,
      place,
      plan.lockFile,
      lock,
      ...configuration,
    ];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }

  /** Copies the installation with that key to `to`. False, with nothing at `to`, if there is none. */
  async restore(key: string, to: string): Promise<boolean> {
    const entry = join(this.#directory, key);
    if (!existsSync(entry)) return false;
    const now = new Date();
    try {
      await utimes(entry, now, now);
      await rm(to, { recursive: true, force: true });
      await this.#copy(entry, to);
      return true;
    } catch (error) {
      await rm(to, { recursive: true, force: true });
      // Another build's clean-up removed the entry meanwhile: the same as no entry.
      if (!existsSync(entry)) return false;
      throw error;
    }
  }

  /** Stores the installation in `from`, unless the key is stored already. */
  async store(key: string, from: string): Promise<void> {
    const entry = join(this.#directory, key);
    if (existsSync(entry) || !existsSync(from)) return;
    await mkdir(this.#directory, { recursive: true });
    const staging = join(this.#directory, `.${key}-${randomUUID()}`);
    try {
      await this.#copy(from, staging);
      await rename(staging, entry).catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        // A concurrent build of the same was faster.
        if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
      });
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    await this.#cleanUp();
  }

  /** Removes all but the most recently used entries, and the remains of killed processes. */
  async #cleanUp(): Promise<void> {
    const found: { path: string; usedAt: number; isComplete: boolean }[] = [];
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      const status = await stat(path).catch(() => undefined);
      if (status !== undefined)
        found.push({ path, usedAt: status.mtimeMs, isComplete: !name.startsWith('.') });
    }
    const whole = found.filter((entry) => entry.isComplete).sort((a, b) => b.usedAt - a.usedAt);
    for (const { path } of whole.slice(MAX_ENTRIES)) {
      // Rename first, so that no lookup finds it, then remove it file by file.
      const trash = join(this.#directory, `.removed-${randomUUID()}`);
      const isMine = await rename(path, trash).then(
        () => true,
        () => false,
      );
      if (isMine) await rm(trash, { recursive: true, force: true });
    }
    for (const { path, usedAt } of found.filter((entry) => !entry.isComplete)) {
      if (Date.now() - usedAt > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
    }
  }
}

function hasInstallSideEffects(manifest: string): boolean {
  const parsed = parsedJson(manifest) as
    | { workspaces?: unknown; patchedDependencies?: unknown; scripts?: Record<string, unknown> }
    | null
    | undefined;
  // If it is no JSON, the package manager reports the error, and nothing is cached.
  if (parsed === undefined || parsed?.workspaces !== undefined) return true;
  // Bun's patches are files of the source, which its lock file names without their digests.
  if (parsed?.patchedDependencies !== undefined) return true;
  return INSTALL_SCRIPTS.some((name) => parsed?.scripts?.[name] !== undefined);
}

async function contentOf(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'latin1') : '';
}
