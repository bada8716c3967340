import { setTimeout as delay } from 'node:timers/promises';

import { type Kysely, sql } from 'kysely';

/** Node's error codes of a failed connection. */
const NETWORK_ERROR_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** `pg`'s messages without an error code. */
const PG_CONNECTION_MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/** Whether an error means that the database is unreachable: a network failure, or classes 08, 53 and 57. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: string };
  if (code === undefined) return PG_CONNECTION_MESSAGES.test(error.message);
  return NETWORK_ERROR_CODES.has(code) || /^(08|53|57P)/.test(code);
}

/** This process's lease on its runs. */
export interface Lease {
  /** Whether no other process can have claimed this process's runs, as far as this process can know. */
  readonly isHeld: boolean;
}

/** The pauses between retries, in milliseconds: from the first to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Does work on the database, and retries it while the database is away and the lease holds, or the signal is not aborted.
 * The work must be safe to repeat, because a statement that was cut off may have had its effect. `onLeaseLost` is called if
 * that ends before the database is back.
 * @throws what the work throws: at once if a retry would not help.
 */
export async function retryDuringOutage<T>(
  lease: Lease | AbortSignal,
  operation: () => Promise<T>,
  onLeaseLost?: () => void,
): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await operation();
    } catch (error) {
      if (!isDatabaseUnavailable(error)) throw error;
      if ('aborted' in lease ? lease.aborted : !lease.isHeld) {
        onLeaseLost?.();
        throw error;
      }
    }
    // Scattered, so that a thousand runs do not retry at the same instant.
    await delay(pause * (0.5 + Math.random()));
  }
}

/** The longest that a health check waits for the database, in milliseconds. */
const HEALTH_TIMEOUT_MS = 2_000;

export async function isDatabaseReachable<Tables>(db: Kysely<Tables>): Promise<boolean> {
  const requested = sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
  return Promise.race([requested, delay(HEALTH_TIMEOUT_MS, false, { ref: false })]);
}
