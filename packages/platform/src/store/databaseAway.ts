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
