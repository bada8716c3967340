import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { parsedJson } from '@slipway/contract/json';

import { PlatformError, undefinedIfMissing } from '../errors.ts';

export interface HomeLock {
  release(): Promise<void>;
}

interface Holder {
  readonly pid: number;
  /** The process's start time as the system counts it; empty if the system does not show it. */
  readonly started: string;
  readonly host: string;
  /** Makes each lock's text unique. */
  readonly nonce: string;
}

const HEARTBEAT_MS = 5_000;
/** How long a holder on another machine (or container) may be silent before it counts as gone, in milliseconds. */
const FOREIGN_STALE_MS = 30_000;
/** Replacing a stale lock takes milliseconds; an older claim is abandoned. */
const CLAIM_STALE_MS = 10_000;
const CLAIM_PAUSE_MS = 20;

/**
 * Takes the lock `<home>/<name>.lock`, so that a home has one owner: two engines in one data directory destroy it.
 * The lock of a killed process is taken over at once (by process id and start time). One from another machine or
 * container is taken over 30 s after its last heartbeat.
 * @throws PlatformError SLIPWAY_HOME_IN_USE while another process holds it.
 */
export async function lockHome(home: string, name: string): Promise<HomeLock> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const path = join(home, `${name}.lock`);
  const ownHolder: Holder = {
    pid: process.pid,
    started: await startTime(process.pid),
    host: hostname(),
    nonce: randomUUID(),
  };
  const draftPath = `${path}.${ownHolder.nonce}`;
  await writeFile(draftPath, JSON.stringify(ownHolder), { flag: 'wx', mode: 0o600 });
  try {
    await acquireLock(path, draftPath, home);
  } finally {
    await rm(draftPath, { force: true });
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    // A failed heartbeat (disk full) must not end the process: only foreign hosts read it.
    utimes(path, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  let released = false;
  heldPaths.add(path);
  return {
    release: async () => {
      if (released) return;
      released = true;
      heldPaths.delete(path);
      clearInterval(heartbeat);
      await rm(path, { force: true });
    },
  };
}

/** Locks of this process, which its process id does not distinguish. */
const heldPaths = new Set<string>();

async function acquireLock(path: string, draftPath: string, home: string): Promise<void> {
  for (;;) {
    try {
      // Creating a hard link is atomic, and only one process succeeds.
      await link(draftPath, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await read(path);
    if (found === undefined) continue;
    if (await isHeld(path, found.holder)) {
      throw new PlatformError(
        'SLIPWAY_HOME_IN_USE',
        `${home} is in use by process ${describe(found.holder)}`,
        {
          place: path,
          hint: 'Stop that process, or give this one another home with --home (or SLIPWAY_HOME).',
        },
      );
    }
    if (await replaceStale(path, found.text, draftPath)) return;
  }
}

/**
 * Replaces a stale lock with ours. Only the holder of the claim for that lock may do so, and the claim lasts until
 * the lock is replaced. So only one of several processes takes it, and a fresh lock is never mistaken for the stale
 * one.
 * False: another process was faster, so check again.
 */
async function replaceStale(path: string, stale: string, draftPath: string): Promise<boolean> {
  const claim = `${path}.${createHash('sha256').update(stale).digest('hex').slice(0, 16)}.claim`;
  try {
    await writeFile(claim, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    await waitForClaim(claim);
    return false;
  }
  try {
    if ((await read(path))?.text !== stale) return false;
    await rename(draftPath, path);
    return true;
  } finally {
    await rm(claim, { force: true });
  }
}

/** Waits a moment for the process that replaces a stale lock. The claim of a killed process expires. */
async function waitForClaim(claim: string): Promise<void> {
  const madeAt = await modifiedAt(claim);
  if (madeAt === undefined) return;
  if (Date.now() - madeAt > CLAIM_STALE_MS) await rm(claim, { force: true });
  else await sleep(CLAIM_PAUSE_MS);
}

async function read(path: string): Promise<{ text: string; holder: Holder | undefined } | undefined> {
  const text = await readFile(path, 'utf8').catch(undefinedIfMissing);
  return text === undefined ? undefined : { text, holder: parseHolder(text) };
}

/** The time of a file's last change, in ms; undefined if it does not exist. */
async function modifiedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(undefinedIfMissing))?.mtimeMs;
}

/** An invalid lock file (for example, truncated by a full disk) has no holder. */
function parseHolder(text: string): Holder | undefined {
  const value = parsedJson(text) as Partial<Holder> | null | undefined;
  if (typeof value?.pid !== 'number' || typeof value.host !== 'string') return undefined;
  return { pid: value.pid, host: value.host, started: value.started ?? '', nonce: value.nonce ?? '' };
}

async function isHeld(path: string, holder: Holder | undefined): Promise<boolean> {
  if (heldPaths.has(path)) return true;
  if (holder === undefined) return false;
  if (holder.host !== hostname()) {
    const heartbeat = await modifiedAt(path);
    return heartbeat !== undefined && Date.now() - heartbeat < FOREIGN_STALE_MS;
  }
  if (!isAlive(holder.pid)) return false;
  return (await startTime(holder.pid)) === holder.started;
}

/** The start time of a process, to detect a reused process id. Only Linux shows it. */
async function startTime(pid: number): Promise<string> {
  const ticks = statFields(pid)[19];
  if (ticks === undefined) return '';
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return `${boot.trim()}:${ticks}`;
}

function describe(holder: Holder | undefined): string {
  return holder === undefined ? 'unknown' : `${holder.pid} on ${holder.host}`;
}

/** Whether a process with that id runs on this machine. A zombie does not count: its parent may never reap it. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: a process of another user, which is alive.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const [state = ''] = statFields(pid);
  return !ENDED_STATES.has(state);
}

/** The states of a process that has ended. */
const ENDED_STATES: ReadonlySet<string> = new Set(['Z', 'X']);

/** The fields of a process's status from its state on; none except on Linux. */
function statFields(pid: number): string[] {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // They follow the name, which is in parentheses and may contain anything.
    return line.slice(line.lastIndexOf(')') + 2).split(' ');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return [];
    throw error;
  }
}
