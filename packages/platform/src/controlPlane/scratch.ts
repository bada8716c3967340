import { randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';

import type { HomeLayout } from './homeLayout.ts';

/**
 * Does work that writes beside its result, in a folder of mode 0700 that no other work has, and removes the folder when
 * the work has ended, however it did.
 *
 * @param name What the folder's name begins with.
 */
export async function withScratch<T>(
  home: HomeLayout,
  name: string,
  work: (scratch: string) => Promise<T>,
): Promise<T> {
  const scratch = home.scratch(`${name}-${randomUUID()}`);
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  try {
    return await work(scratch);
  } finally {
    await removeTree(scratch);
  }
}

/** Removes what an earlier process of this home was at when it ended. Call it before anything is at work. */
export async function removeScratches(home: HomeLayout): Promise<void> {
  await removeTree(home.scratches);
}

/** A command that was killed may take a moment to end, and write until then: what it wrote is removed too. */
async function removeTree(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
