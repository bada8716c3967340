import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { PlatformError } from '../errors.ts';

/** The key from which the platform's other keys are derived: 32 bytes. Never leaves the process. */
export type MasterKey = Buffer;

/** The master key's file in a platform's home. */
const MASTER_KEY_FILE = 'master.key';

/** Whether the master key comes from the environment, and not from its file. */
export function isMasterKeyGiven(env: NodeJS.ProcessEnv = process.env): boolean {
  return (env['SLIPWAY_MASTER_KEY'] ?? '') !== '';
}

/**
 * The master key: `SLIPWAY_MASTER_KEY` (64 hexadecimal digits, or 44 characters of base64) where it is set, else
 * `<home>/master.key`, created once with mode 0600. Whoever loses it loses the stored secrets.
 * @throws PlatformError SLIPWAY_MASTER_KEY_INVALID when the value is not 32 bytes.
 */
export async function loadMasterKey(home: string, env: NodeJS.ProcessEnv = process.env): Promise<MasterKey> {
  const given = env['SLIPWAY_MASTER_KEY'];
  if (given !== undefined && given !== '') return decodeKey(given, 'SLIPWAY_MASTER_KEY');
  const path = join(home, MASTER_KEY_FILE);
  return decodeKey(await readOrCreate(home, path, () => randomBytes(32).toString('hex')), path);
}

/**
 * The platform's API key: what was given, else `<home>/api.key`, created once with mode 0600.
 * The key looks like `slipway_` and 43 characters of base64url.
 */
export async function loadApiKey(home: string, given?: string): Promise<string> {
  if (given !== undefined && given !== '') return given;
  return readOrCreate(home, join(home, 'api.key'), () => `slipway_${randomBytes(32).toString('base64url')}`);
}

/** A 32-byte key for one purpose, from the master key: one purpose's key reveals nothing about the others. */
export function deriveKey(
  master: MasterKey,
  purpose: 'secrets' | 'uploads' | 'idempotency' | 'containers',
): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', `slipway:${purpose}`, 32));
}

/**
 * Reads a key from its text.
 * @throws PlatformError SLIPWAY_MASTER_KEY_INVALID when it is not 32 bytes; `place` says where it was.
 */
function decodeKey(text: string, place: string): MasterKey {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  if (key.length !== 32) {
    throw new PlatformError('SLIPWAY_MASTER_KEY_INVALID', 'The master key is not 32 bytes.', {
      place,
      hint: 'Give 64 hexadecimal digits, for example from: openssl rand -hex 32',
    });
  }
  return key;
}

/** Reads the file, or creates it whole: of two processes that create it at once, both read the same content. */
export async function readOrCreate(home: string, path: string, create: () => string): Promise<string> {
  const existing = await readIfThere(path);
  if (existing !== undefined) return existing;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const written = `${path}.${randomUUID()}`;
  try {
    await writeFile(written, `${create()}\n`, { flag: 'wx', mode: 0o600, flush: true });
    await link(written, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(written, { force: true });
  }
  return (await readFile(path, 'utf8')).trim();
}

/** The text of a file, without white space at its ends; undefined where it is not there. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * The file of the next master key. It exists from the start of a rotation until every stored secret is sealed with the
 * new key; until then both keys are needed to open secrets.
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
