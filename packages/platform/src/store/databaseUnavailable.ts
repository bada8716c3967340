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

/**
 * Whether an error means that the database is unreachable now: Postgres' classes 08 (connection), 53 (resources), 57
 * (shutdown by the operator), or a network failure.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: string };
  if (code === undefined) return PG_CONNECTION_MESSAGES.test(error.message);
  return NETWORK_ERROR_CODES.has(code) || /^(08|53|57P)/.test(code);
}
