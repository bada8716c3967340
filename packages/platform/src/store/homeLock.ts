import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { PlatformError } from '../errors.ts';

/** A held lock. */
export interface HomeLock {
  release(): Promise<void>;
}

/** What the lock's file says about its holder. */
interface Holder {
  readonly pid: number;
  /** When the process started, as the system counts it; empty if the system does not show it. */
  readonly started: string;
  readonly host: string;
  /** Makes the text of each lock its own. */
  readonly nonce: string;
}

const HEARTBEAT_MS = 5_000;
/** A holder on another machine (or container) counts as gone after this long without a heartbeat. */
const FOREIGN_STALE_MS = 30_000;
/** Taking a stale lock over takes milliseconds. */
const CLAIM_STALE_MS = 10_000;
const CLAIM_PAUSE_MS = 20;

/**
 * Takes the lock `<home>/<name>.lock`, so that one home has one owner: two engines in one data directory destroy it.
 * The lock of a process that was killed is taken over at once (its process id and start time are compared); one
 * that another machine or container left behind, 30 s after its last heartbeat.
 * @throws PlatformError SLIPWAY_HOME_IN_USE while another process holds it.
 */
export async function lockHome(home: string, name: string): Promise<HomeLock> {
  await mkdir(home, { recursive: true, mode: 0o700 });
  const path = join(home, `${name}.lock`);
  const mine: Holder = {
    pid: process.pid,
    started: await startTime(process.pid),
    host: hostname(),
    nonce: randomUUID(),
  };
  const written = `${path}.${mine.nonce}`;
  await writeFile(written, JSON.stringify(mine), { flag: 'wx', mode: 0o600 });
  try {
    await take(path, written, home);
  } finally {
    await rm(written, { force: true });
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    // A heartbeat that cannot be written (disk full) must not end the process: only foreign hosts look at it.
    utimes(path, now, now).catch(() => undefined);
  }, HEARTBEAT_MS);
  heartbeat.unref();
  let released = false;
  held.add(path);
  return {
    release: async () => {
      if (released) return;
      released = true;
      held.delete(path);
      clearInterval(heartbeat);
      await rm(path, { force: true });
    },
  };
}

/** Locks of this very process: a process id does not identify them. */
const held = new Set<string>();

async function take(path: string, written: string, home: string): Promise<void> {
  for (;;) {
    try {
      // A hard link appears whole or not at all, and only one of several can be first.
      await link(written, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const found = await read(path);
    if (found === undefined) continue;
    if (await isHeld(path, found.holder)) {
      throw new PlatformError(
        'SLIPWAY_HOME_IN_USE',
        `${home} is in use by process ${describe(found.holder)}.`,
        {
          place: path,
          hint: 'Stop that process, or give this one another home with --home (or SLIPWAY_HOME).',
        },
      );
    }
    if (await replaceStale(path, found.text, written)) return;
  }
}

/**
 * Puts our lock in the place of a stale one. Only who holds the claim to that very lock may, and it stands until the
 * place is taken: of several that found it stale, one takes it, and a fresh lock is never taken for the stale one.
 * False: another process was faster, so look again.
 */
async function replaceStale(path: string, stale: string, written: string): Promise<boolean> {
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
    await rename(written, path);
    return true;
  } finally {
    await rm(claim, { force: true });
  }
}

/** Gives whoever is taking a stale lock over a moment; a claim whose maker was killed does not count for ever. */
async function waitForClaim(claim: string): Promise<void> {
  const madeAt = await timeOf(claim);
  if (madeAt === undefined) return;
  if (Date.now() - madeAt > CLAIM_STALE_MS) await rm(claim, { force: true });
  else await sleep(CLAIM_PAUSE_MS);
}

async function read(path: string): Promise<{ text: string; holder: Holder | undefined } | undefined> {
  const text = await readFile(path, 'utf8').catch(ifThere);
  return text === undefined ? undefined : { text, holder: parseHolder(text) };
}

/** When a file was written last, in ms; undefined if it is not there. */
async function timeOf(path: string): Promise<number | undefined> {
  return (await stat(path).catch(ifThere))?.mtimeMs;
}

/** Makes of a file that is not there `undefined`. */
function ifThere(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

/** A file that does not read as a lock (cut off by a full disk, say) has no holder. */
function parseHolder(text: string): Holder | undefined {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null;
    if (typeof value?.pid !== 'number' || typeof value.host !== 'string') return undefined;
    return { pid: value.pid, host: value.host, started: value.started ?? '', nonce: value.nonce ?? '' };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function isHeld(path: string, holder: Holder | undefined): Promise<boolean> {
  if (held.has(path)) return true;
  if (holder === undefined) return false;
  if (holder.host !== hostname()) {
    const heartbeat = await timeOf(path);
    return heartbeat !== undefined && Date.now() - heartbeat < FOREIGN_STALE_MS;
  }
  if (!isAlive(holder.pid)) return false;
  return (await startTime(holder.pid)) === holder.started;
}

/** When a process started, so that a process id used again is not taken for the old one. Only Linux shows it. */
async function startTime(pid: number): Promise<string> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(ifThere);
  if (line === undefined) return '';
  // The name, in parentheses, may hold anything; the start time is the 20th field after it.
  const ticks = line.slice(line.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
  return `${boot.trim()}:${ticks}`;
}

function describe(holder: Holder | undefined): string {
  return holder === undefined ? 'unknown' : `${holder.pid} on ${holder.host}`;
}

/**
 * Whether a process of that id lives on this machine, whoever it belongs to. One that has ended does not, although its
 * number is kept until whoever started it has asked how it ended: in a container that may be never.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user lives, too.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return !ENDED.has(stateOf(pid));
}

/** Letters for the states of a process that runs nothing any more. */
const ENDED: ReadonlySet<string> = new Set(['Z', 'X']);

/** The letter of a process's state; empty except on Linux. */
function stateOf(pid: number): string {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // It follows the name, which stands in parentheses and may hold anything.
    return line.charAt(line.lastIndexOf(')') + 2);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return '';
    throw error;
  }
}
