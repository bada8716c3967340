import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { InstallPlan } from './installPlan.ts';

/** How many installations are kept: the ones used last. */
const KEPT_ENTRIES = 8;
/** What is still being written after so long, in ms, was left behind by a process that was killed. */
const ABANDONED_AFTER_MS = 60 * 60_000;

/** An install command of which is known that all it makes is `node_modules` beside it. */
const PLAIN_INSTALL =
  /^(npm (ci|clean-install|install|i)|pnpm (install|i)|yarn( install)?|bun (install|i))( --?[a-z][\w-]*(=[\w.-]+)?)*$/i;
const INSTALLS_ELSEWHERE = / (--(prefix|dir|cwd|global|location)\b|-[Cg]\b)/;
/** Scripts of the source itself that package managers run on install. They may make anything, anywhere. */
const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
];
/** Lock files' marks of dependencies that are directories of the source: these may hold a `node_modules` each. */
const LINKED = /"link":\s*true|\b(link|portal|workspace):|\bfile:(?!\S*\.t(ar\.)?gz\b)/;
/** What else beside the lock file decides on what is installed. */
const CONFIGURATION = [
  'package.json',
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  'pnpm-workspace.yaml',
  '.pnpmfile.cjs',
  'bunfig.toml',
];

/** Copies a directory, all of it, as `cp -a` does. Rejects when it could not; leaves no process behind. */
export type CopyDirectory = (from: string, to: string) => Promise<void>;

/**
 * Installed `node_modules`, kept by what decided on them, so that the next build of the same dependencies copies
 * them instead of installing again.
 *
 * Entries are copies, not hard links: a build, or a running agent, that writes into its `node_modules` must not
 * change those of other revisions. An entry appears whole, by a rename, or not at all, so concurrent builds and
 * killed processes never leave half of one; whoever loses the race drops its copy.
 */
export class NodeModulesCache {
  readonly #directory: string;
  readonly #copy: CopyDirectory;

  constructor(directory: string, copy: CopyDirectory) {
    this.#directory = directory;
    this.#copy = copy;
  }

  /**
   * What identifies an installation: command, lock file, `package.json`, the package managers' configuration,
   * Node's version and this machine's kind. Undefined where an installation cannot be told by these alone: no
   * lock file, a command or scripts that may do more than install, workspaces, linked directories. Yarn 2 and later are
   * left out on purpose (their lock files name the source itself as a workspace): their commands do not run without the
   * state that an installation leaves outside `node_modules`.
   */
  async keyOf(plan: InstallPlan): Promise<string | undefined> {
    const command = plan.command.trim();
    if (plan.lockFile === undefined) return undefined;
    if (!PLAIN_INSTALL.test(command) || INSTALLS_ELSEWHERE.test(command)) return undefined;
    const lock = await contentOf(join(plan.cwd, plan.lockFile));
    const manifest = await contentOf(join(plan.cwd, 'package.json'));
    if (LINKED.test(lock) || doesMoreOnInstall(manifest)) return undefined;
    if (existsSync(join(plan.cwd, 'binding.gyp'))) return undefined;
    if (/^packages:/m.test(await contentOf(join(plan.cwd, 'pnpm-workspace.yaml')))) return undefined;
    const configuration = await Promise.all(CONFIGURATION.map((name) => contentOf(join(plan.cwd, name))));
    const parts = [
      command,
      process.version,
      process.platform,
      process.arch,
      plan.lockFile,
      lock,
      ...configuration,
    ];
    return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
  }

  /** Puts the installation of that key into `to`. False, with nothing left at `to`, where there is none. */
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
      // Another build's clean-up took the entry away meanwhile: the same as if it had not been there.
      if (!existsSync(entry)) return false;
      throw error;
    }
  }

  /** Keeps what was installed in `from`. Where the key is kept already, nothing changes. */
  async keep(key: string, from: string): Promise<void> {
    const entry = join(this.#directory, key);
    if (existsSync(entry) || !existsSync(from)) return;
    await mkdir(this.#directory, { recursive: true });
    const staging = join(this.#directory, `.${key}-${randomUUID()}`);
    try {
      await this.#copy(from, staging);
      await rename(staging, entry).catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        // Another build of the same was faster.
        if (code !== 'ENOTEMPTY' && code !== 'EEXIST') throw error;
      });
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
    await this.#cleanUp();
  }

  /** Removes all entries but the ones used last, and what killed processes left. */
  async #cleanUp(): Promise<void> {
    const found: { path: string; usedAt: number; whole: boolean }[] = [];
    for (const name of await readdir(this.#directory)) {
      const path = join(this.#directory, name);
      const status = await stat(path).catch(() => undefined);
      if (status !== undefined) found.push({ path, usedAt: status.mtimeMs, whole: !name.startsWith('.') });
    }
    const whole = found.filter((entry) => entry.whole).sort((a, b) => b.usedAt - a.usedAt);
    for (const { path } of whole.slice(KEPT_ENTRIES)) {
      // Renamed first, so that no lookup finds it; then removed file by file.
      const trash = join(this.#directory, `.removed-${randomUUID()}`);
      const isMine = await rename(path, trash).then(
        () => true,
        () => false,
      );
      if (isMine) await rm(trash, { recursive: true, force: true });
    }
    for (const { path, usedAt } of found.filter((entry) => !entry.whole)) {
      if (Date.now() - usedAt > ABANDONED_AFTER_MS) await rm(path, { recursive: true, force: true });
    }
  }
}

function doesMoreOnInstall(manifest: string): boolean {
  let parsed: { workspaces?: unknown; scripts?: Record<string, unknown> } | null;
  try {
    parsed = JSON.parse(manifest) as typeof parsed;
  } catch {
    // The package manager will say so; there is nothing to keep then.
    return true;
  }
  if (parsed?.workspaces !== undefined) return true;
  return INSTALL_SCRIPTS.some((name) => parsed?.scripts?.[name] !== undefined);
}

async function contentOf(file: string): Promise<string> {
  return existsSync(file) ? readFile(file, 'latin1') : '';
}
