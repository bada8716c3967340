import { setTimeout as delay } from 'node:timers/promises';

/** The pauses between tries, in milliseconds: from the first to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Does work on the database, and again while the database is away, for as long as `worthwhile` says. The work has to
 * bear being done twice: whether a statement that was cut off had its effect is not known.
 * @throws what the work throws: at once where trying again would not help.
 */
export async function throughOutage<T>(work: () => Promise<T>, worthwhile: () => boolean): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseAway(error) || !worthwhile()) throw error;
    }
    // Scattered, so that a thousand runs do not come back in the same instant.
    await delay(pause * (0.5 + Math.random()));
  }
}

/** Node's codes of a connection that broke or cannot be made. */
const NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** What `pg` says without any code. */
const SAID_BY_PG =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Query read timeout)/;

/**
 * Whether an error says that the database cannot be reached now: Postgres' classes 08 (connection), 53 (resources),
 * 57 (the operator stops it), and a network that does not answer.
 */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: string };
  if (code === undefined) return SAID_BY_PG.test(error.message);
  return NETWORK.has(code) || /^(08|53|57P)/.test(code);
}
