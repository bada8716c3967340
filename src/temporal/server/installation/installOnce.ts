import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { SlipwayError } from '../../../domain/errors.ts';
import { moveIntoPlace } from './executable.ts';
import { withInstallLock } from './installLock.ts';
import type { InstallAttempt, InstallTask, Progress } from './progress.ts';

/** An executable, and where it came from. */
export interface Found<Origin extends string> {
  readonly path: string;
  readonly origin: Origin;
}

/** How an installation is followed and ended. */
export interface InstallOptions {
  /** One line of progress, without a line end; at least every 15 s while something takes long. */
  readonly onProgress?: Progress;
  readonly signal?: AbortSignal;
  /** Default: the process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** How long the SDK's download may go without a single byte, in milliseconds. Default: 20 s. */
  readonly downloadStallMs?: number;
}

/** An executable that is installed into the user's cache directory. */
export interface Installable<Origin extends string> {
  /** What it is called, for people. */
  readonly name: string;
  /** The file that it becomes. */
  readonly destination: string;
  /** Finds one that runs, without installing it. */
  readonly find: () => Promise<Found<Origin> | undefined>;
  /** Where `find` looked in vain: one line each. */
  readonly lookedFor: readonly string[];
  /** The ways of making one, in the order in which they are tried. */
  readonly ways: readonly {
    readonly origin: Origin;
    readonly name: string;
    readonly install: (task: InstallTask) => Promise<InstallAttempt>;
  }[];
  /** Whether what a way made runs. */
  readonly runs: (path: string) => Promise<boolean>;
  /** What to say where nothing worked. */
  readonly failed: (tried: readonly string[], cause?: unknown) => SlipwayError;
}

/**
 * Finds an executable, or installs it. Two installations at once do not disturb each other: the second waits for the
 * first and takes what it left.
 *
 * @throws what `failed` makes of each thing that was tried and why it failed; the signal's reason when it is aborted.
 */
export async function installOnce<Origin extends string>(
  installable: Installable<Origin>,
  options: InstallOptions = {},
): Promise<Found<Origin>> {
  const { onProgress = () => undefined, signal } = options;
  const { name, find, destination } = installable;
  const found = await find();
  if (found !== undefined) return found;
  const directory = dirname(destination);
  await createCache(installable, directory);
  const locking = { name, directory, onProgress, signal };
  return withInstallLock(locking, async () => {
    const meanwhile = await find();
    if (meanwhile !== undefined) return meanwhile;
    await removeAbandoned(directory);
    // Beside the cache, so that moving the finished executable into it is one rename on one file system.
    const workspace = await mkdtemp(join(directory, WORKSPACE_PREFIX));
    try {
      return await tryEach(installable, workspace, options);
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  });
}

const WORKSPACE_PREFIX = 'installing-';
/** What has not changed for this long was left behind by an installation that was killed. */
const ABANDONED_AFTER_MS = 60 * 60_000;

async function removeAbandoned(cacheDirectory: string): Promise<void> {
  for (const name of await readdir(cacheDirectory)) {
    const path = join(cacheDirectory, name);
    if (!name.startsWith(WORKSPACE_PREFIX)) continue;
    if (Date.now() - (await stat(path)).mtimeMs > ABANDONED_AFTER_MS) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

async function tryEach<Origin extends string>(
  { name: called, destination, lookedFor, ways, runs, failed }: Installable<Origin>,
  workspace: string,
  options: InstallOptions,
): Promise<Found<Origin>> {
  const { onProgress = () => undefined, signal, env = process.env, downloadStallMs = 20_000 } = options;
  const tried = [...lookedFor];
  for (const { origin, name, install } of ways) {
    signal?.throwIfAborted();
    onProgress(`installing ${called} by ${name}`);
    const made = await install({
      workspace,
      cacheDirectory: dirname(destination),
      onProgress,
      env,
      stallMs: downloadStallMs,
      signal,
    });
    signal?.throwIfAborted();
    if (!made.ok) {
      tried.push(`${name}: ${made.reason}`);
      onProgress(`that did not work: ${made.reason}`);
    } else if (await runs(made.path)) {
      await moveIntoPlace(made.path, destination);
      return { path: destination, origin };
    } else {
      tried.push(`${name}: the installed program does not run`);
    }
  }
  throw failed(tried);
}

async function createCache<Origin extends string>(
  { failed }: Installable<Origin>,
  directory: string,
): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw failed([`the cache directory ${directory} cannot be written: ${why}`], cause);
  }
}

/** What was tried, one line each. */
export function listTried(tried: readonly string[]): string {
  return `Tried:\n${tried.map((line) => `  - ${line}`).join('\n')}`;
}
