import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';

import { PlatformError } from '../errors.ts';
import { pause } from '../pause.ts';
import { createDataDirectory } from './dataDirectory.ts';
import { lockHome } from './homeLock.ts';
import { type PgliteThread, startPgliteThread } from './pgliteThread.ts';

/** A Postgres inside this process, which other processes of this machine reach by the Postgres protocol. */
export interface EmbeddedPostgres {
  /** Its password is new each time. */
  readonly connectionString: string;
  /** The secret for the passwords of agents' roles (`agentPassword`). */
  readonly secret: string;
  close(): Promise<void>;
}

/** The delay between attempts to reopen a failed engine, in milliseconds. */
const REOPEN_AFTER_MS = 1_000;

/**
 * Opens the embedded Postgres in `<home>/postgres`, and creates it if missing (about 160 MB resident: one per
 * machine, not one per agent). Only one process at a time may use its data directory.
 *
 * Decision: a crashed engine is reopened, as Postgres restarts after a crash. Committed data remains; connections are
 * cut and can be made again at the same address. If reopening fails (for example, a full disk), it is retried every
 * second. Queries fail meanwhile, but agents keep serving from memory.
 * @param onTrouble - called for every crash and every failed attempt to open.
 * @throws PlatformError SLIPWAY_HOME_IN_USE, SLIPWAY_DATABASE_UNREACHABLE.
 */
export async function openEmbeddedPostgres(
  home: string,
  onTrouble: (error: Error) => void,
): Promise<EmbeddedPostgres> {
  const lock = await lockHome(home, 'postgres');
  const password = randomBytes(24).toString('base64url');
  const closing = new AbortController();
  const closed = once(closing.signal, 'abort').then(() => undefined);
  const open = async (port: number): Promise<PgliteThread> => {
    const directory = join(home, 'postgres');
    try {
      await createDataDirectory(directory);
      return await startPgliteThread({ directory, password, port });
    } catch (error) {
      throw new PlatformError('SLIPWAY_DATABASE_UNREACHABLE', 'The embedded database could not be opened', {
        place: directory,
        hint: 'Check that the directory is writable and the disk is not full.',
        cause: error,
      });
    }
  };

  /** Undefined if it was closed meanwhile. */
  const openAgain = async (port: number): Promise<PgliteThread | undefined> => {
    while (!closing.signal.aborted) {
      try {
        return await open(port);
      } catch (error) {
        onTrouble(error as PlatformError);
        await pause(REOPEN_AFTER_MS, closing.signal);
      }
    }
    return undefined;
  };

  const keepOpen = async (first: PgliteThread): Promise<void> => {
    let thread: PgliteThread | undefined = first;
    while (thread !== undefined) {
      const crash = await Promise.race([thread.ended, closed]);
      if (closing.signal.aborted) return thread.close();
      onTrouble(new Error('The embedded database crashed, and is opened again.', { cause: crash }));
      thread = await openAgain(thread.port);
    }
  };

  try {
    const first = await open(0);
    const kept = keepOpen(first);
    return {
      connectionString: `postgres://postgres:${password}@127.0.0.1:${first.port}/postgres?sslmode=disable`,
      secret: password,
      close: async () => {
        closing.abort();
        try {
          await kept;
        } finally {
          await lock.release();
        }
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
