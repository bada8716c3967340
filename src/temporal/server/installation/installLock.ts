import { open, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { type Progress, repeatWhile } from './progress.ts';

const TOUCH_EVERY_MS = 5_000;
/** A lock that nobody touched for this long was left behind by a process that was killed. */
const STALE_AFTER_MS = 30_000;
const LOOK_EVERY_MS = 500;

/** What {@link withInstallLock} locks. */
export interface InstallLockOptions {
  /** What is installed, for people. */
  readonly name: string;
  readonly directory: string;
  readonly onProgress: Progress;
  readonly signal?: AbortSignal;
}

/**
 * Runs the work while no other process installs into the same directory. It saves a second installation of five
 * minutes; what keeps two installations from breaking each other is that each ends in one rename.
 *
 * @throws the signal's reason when `signal` is aborted while waiting.
 */
export async function withInstallLock<T>(options: InstallLockOptions, work: () => Promise<T>): Promise<T> {
  const { name, directory, onProgress, signal } = options;
  const path = join(directory, 'install.lock');
  if (!(await take(path))) {
    onProgress(`another process is installing ${name}: waiting for it`);
    await repeatWhile(
      onProgress,
      () => 'waiting for the other installation',
      async () => {
        while (!(await take(path)))
          await sleep(LOOK_EVERY_MS, undefined, signal === undefined ? {} : { signal });
      },
    );
  }
  const touching = setInterval(() => {
    const now = new Date();
    // Whoever removed the lock will install too; that costs time and breaks nothing.
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
