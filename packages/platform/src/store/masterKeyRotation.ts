import { randomBytes } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';

import { decodeKey, type MasterKey, MASTER_KEY_FILE, readIfThere, readOrCreate } from './keyFiles.ts';

/**
 * The master key's file beside the one that is to follow it: it is there from the first moment of a rotation until
 * every stored secret has the new key. Whoever opens secrets meanwhile needs both.
 */
const NEXT_KEY_FILE = `${MASTER_KEY_FILE}.next`;

/**
 * The key of a rotation that has not come to its end; undefined where there is none.
 * @throws PlatformError SLIPWAY_MASTER_KEY_INVALID.
 */
export async function pendingMasterKey(home: string): Promise<MasterKey | undefined> {
  const path = join(home, NEXT_KEY_FILE);
  const text = await readIfThere(path);
  return text === undefined ? undefined : decodeKey(text, path);
}

/** The key that follows: of a rotation that was begun before, or a new one. It is on the disk before it is used. */
export async function nextMasterKey(home: string): Promise<MasterKey> {
  const path = join(home, NEXT_KEY_FILE);
  const text = await readOrCreate(home, path, () => randomBytes(32).toString('hex'));
  await syncDirectory(home);
  return decodeKey(text, path);
}

/** Ends a rotation: nothing is left that needs the key before. */
export async function adoptNextMasterKey(home: string): Promise<void> {
  await rename(join(home, NEXT_KEY_FILE), join(home, MASTER_KEY_FILE));
  await syncDirectory(home);
}

/** What was renamed is there after a power cut, too. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
