import { access, constants, mkdir, mkdtemp, open, readdir, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { errorText } from '@slipway/contract/codedError';

import { type ErrorCode, SlipwayError } from '../../../domain/errors.ts';
import { moveIntoPlace, type Program, findProgram } from './executable.ts';
import { type InstallAttempt, type InstallTask, type OnProgress, repeatWhile } from './installTask.ts';

export interface Found<Origin extends string> {
  readonly path: string;
  readonly origin: Origin;
}

export interface InstallOptions {
  /** Called with one line of progress, without a line end, at least every 15 s during long work. */
  readonly onProgress?: OnProgress;
  readonly signal?: AbortSignal;
  /** Default: the process's environment. */
  readonly env?: NodeJS.ProcessEnv;
  /** How long the SDK's download may receive nothing, in milliseconds. Default: 20 s. */
  readonly downloadStallMs?: number;
}

interface Installable<Origin extends string> extends Program {
  readonly name: string;
  /** The ways to install it, in the order in which they are tried. */
  readonly ways: readonly {
    readonly origin: Origin;
    readonly name: string;
    readonly install: (task: InstallTask) => Promise<InstallAttempt>;
  }[];
  /** The error if nothing worked. Its message lists what was tried. */
  readonly failure: { readonly code: ErrorCode; readonly message: string; readonly hint: string };
}

/**
 * Finds an executable, or installs it. If two processes install at once, the second waits and uses the first one's
 * result.
 * @throws SlipwayError the installable's `failure`, with each attempt and why it failed; the signal's reason if it is
 * aborted.
 */
export async function installOnce<Origin extends string>(
  installable: Installable<Origin>,
  options: InstallOptions,
): Promise<Found<Origin | 'path' | 'cache'>> {
  const { onProgress = () => undefined, signal, env = process.env } = options;
  const { name, destination } = installable;
  const found = await findProgram(installable, env);
  if (found !== undefined) return found;
  const directory = dirname(destination);
  await createCache(installable, directory);
  const locking = { name, directory, onProgress, signal };
  return withInstallLock(locking, async () => {
    const meanwhile = await findProgram(installable, env);
    if (meanwhile !== undefined) return meanwhile;
    await removeAbandoned(directory);
    // Beside the cache, so that moving the executable into it is one rename on one file system.
    const workspace = await mkdtemp(join(directory, WORKSPACE_PREFIX));
    try {
      return await tryEach(installable, workspace, options);
    } finally {
      await rm(workspace, { recursive: true, force: true });
    }
  });
}

const WORKSPACE_PREFIX = 'installing-';
/** A workspace that has not changed for this long was left by an installation that was killed. */
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
  installable: Installable<Origin>,
  workspace: string,
  options: InstallOptions,
): Promise<Found<Origin>> {
  const { onProgress = () => undefined, signal, env = process.env, downloadStallMs = 20_000 } = options;
  const { name: called, fileName, destination, ways, runs } = installable;
  const tried = [
    `\`${fileName}\` on the PATH: there is none that runs`,
    `the cached copy ${destination}: there is none that runs`,
  ];
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
  throw failed(installable, tried);
}

type Failing = Pick<Installable<string>, 'failure'>;

async function createCache({ failure: { code, message } }: Failing, directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    await access(directory, constants.W_OK);
  } catch (cause) {
    const why = errorText(cause);
    const hint = 'Make it writable, or set XDG_CACHE_HOME to a folder that is.';
    const place = directory;
    throw new SlipwayError(code, `${message}: the cache cannot be written: ${why}`, { place, hint, cause });
  }
}

function failed({ failure: { code, message, hint } }: Failing, tried: readonly string[]): SlipwayError {
  const lines = tried.map((line) => `  - ${line}`).join('\n');
  return new SlipwayError(code, `${message}. Tried:\n${lines}`, { hint });
}

const TOUCH_EVERY_MS = 5_000;
/** A lock that was not touched for this long was left by a process that was killed. */
const STALE_AFTER_MS = 30_000;
const LOOK_EVERY_MS = 500;

interface InstallLockOptions {
  readonly name: string;
  readonly directory: string;
  readonly onProgress: OnProgress;
  readonly signal?: AbortSignal;
}

/**
 * Runs the work while no other process installs into the same directory. The lock only saves a second installation of
 * five minutes. Without it, installations still do not break each other, because each ends in one rename.
 * @throws the signal's reason if `signal` is aborted during the wait.
 */
async function withInstallLock<T>(options: InstallLockOptions, work: () => Promise<T>): Promise<T> {
  const { name, directory, onProgress, signal } = options;
  const path = join(directory, 'install.lock');
  if (!(await take(path))) {
    onProgress(`another process is installing ${name}: waiting for it`);
    await repeatWhile(
      onProgress,
      () => 'waiting for the other installation',
      async () => {
        while (!(await take(path))) await sleep(LOOK_EVERY_MS, undefined, { signal });
      },
    );
  }
  const touching = setInterval(() => {
    const now = new Date();
    // The process that removed the lock also installs: that costs time and breaks nothing.
    utimes(path, now, now).catch(() => undefined);
  }, TOUCH_EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(touching);
    await rm(path, { force: true });
  }
}

async function take(path: string): Promise<boolean> {
  try {
    const handle = await open(path, 'wx');
    await handle.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (await isStale(path)) await rm(path, { force: true });
    return false;
  }
}

async function isStale(path: string): Promise<boolean> {
  try {
    return Date.now() - (await stat(path)).mtimeMs > STALE_AFTER_MS;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
