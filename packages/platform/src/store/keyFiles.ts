import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { PlatformError, undefinedIfMissing } from '../errors.ts';
import { RotatingSealing } from './sealing.ts';

/** The master key's file in a platform's home. */
const MASTER_KEY_FILE = 'master.key';

/** Whether the master key comes from the environment instead of its file. */
export function isMasterKeyGiven(): boolean {
  return (process.env['SLIPWAY_MASTER_KEY'] ?? '') !== '';
}

/**
 * The sealing of a home's stored secrets. It also opens those that an unfinished rotation has sealed.
 * @throws PlatformError SLIPWAY_MASTER_KEY_INVALID
 */
export async function loadSealing(
  home: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RotatingSealing> {
  const sealing = new RotatingSealing(secretsKeyOf(await loadMasterKey(home, env)));
  const next = await pendingMasterKey(home);
  if (next !== undefined) sealing.rotateTo(secretsKeyOf(next));
  return sealing;
}

/**
 * The master key, from which the key of the stored secrets is derived: `SLIPWAY_MASTER_KEY` (64 hexadecimal digits, or 44 characters of base64) if set, else
 * `<home>/master.key`, created once with mode 0600. Without it, the stored secrets are lost.
 * @throws PlatformError SLIPWAY_MASTER_KEY_INVALID if it is not 32 bytes.
 */
export async function loadMasterKey(home: string, env: NodeJS.ProcessEnv): Promise<Buffer> {
  const given = env['SLIPWAY_MASTER_KEY'];
  if (given !== undefined && given !== '') return decodeKey(given, 'SLIPWAY_MASTER_KEY');
  const path = join(home, MASTER_KEY_FILE);
  return decodeKey(await readOrCreate(home, path, () => randomBytes(32).toString('hex')), path);
}

/**
 * The platform's API key: the given one, else `<home>/api.key` (mode 0600), created as `slipway_` and 43 characters.
 */
export async function loadApiKey(home: string, given?: string): Promise<string> {
  if (given !== undefined && given !== '') return given;
  return readOrCreate(home, join(home, 'api.key'), newApiKey);
}

/** A new API key: 256 random bits. */
export function newApiKey(): string {
  return `slipway_${randomBytes(32).toString('base64url')}`;
}

/** The key that seals stored secrets: 32 bytes, derived from the master key. */
export function secretsKeyOf(master: Buffer): Buffer {
  return Buffer.from(hkdfSync('sha256', master, '', 'slipway:secrets', 32));
}

/** Parses a key. @throws PlatformError SLIPWAY_MASTER_KEY_INVALID if it is not 32 bytes; `place` is its origin. */
function decodeKey(text: string, place: string): Buffer {
  const trimmed = text.trim();
  const key = /^[0-9a-f]{64}$/i.test(trimmed) ? Buffer.from(trimmed, 'hex') : Buffer.from(trimmed, 'base64');
  if (key.length !== 32) {
    throw new PlatformError('SLIPWAY_MASTER_KEY_INVALID', 'The master key is not 32 bytes', {
      place,
      hint: 'Give 64 hexadecimal digits, for example from: openssl rand -hex 32',
    });
  }
  return key;
}

/** Reads the file, or creates it atomically: two processes that create it at once read the same content. */
export async function readOrCreate(home: string, path: string, create: () => string): Promise<string> {
  const existing = await readIfExists(path);
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

/** The trimmed text of a file; undefined if it does not exist. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return (await readFile(path, 'utf8').catch(undefinedIfMissing))?.trim();
}

/** The file of the next master key, until every secret is sealed with it. Until then, opening needs both keys. */
const NEXT_KEY_FILE = `${MASTER_KEY_FILE}.next`;

/** The key of an unfinished rotation; undefined if there is none. @throws PlatformError SLIPWAY_MASTER_KEY_INVALID. */
export async function pendingMasterKey(home: string): Promise<Buffer | undefined> {
  const path = join(home, NEXT_KEY_FILE);
  const text = await readIfExists(path);
  return text === undefined ? undefined : decodeKey(text, path);
}

/** The next master key: that of an unfinished rotation, or a new one. It is on disk before it is used. */
export async function nextMasterKey(home: string): Promise<Buffer> {
  const path = join(home, NEXT_KEY_FILE);
  const text = await readOrCreate(home, path, () => randomBytes(32).toString('hex'));
  await syncDirectory(home);
  return decodeKey(text, path);
}

/** Ends a rotation: nothing needs the old key any more. */
export async function adoptNextMasterKey(home: string): Promise<void> {
  await rename(join(home, NEXT_KEY_FILE), join(home, MASTER_KEY_FILE));
  await syncDirectory(home);
}

/** Makes a rename survive a power failure. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
