/** What of an error is logged. */
export interface LoggedError {
  readonly type: string;
  readonly message: string;
  /** Node's, Postgres' or Slipway's own. */
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** How far a chain of causes is followed. */
const CAUSES_MAX = 5;

/**
 * Picks what a log line holds of an error: its name, message, code, stack and causes, and nothing else. Drivers hang
 * whole objects on their errors (`pg` its client, with every option it was given; Node's URL parser its input), and
 * passwords stand in those. The user's part of an address is blanked in texts too.
 */
export function loggedError(error: unknown): LoggedError {
  return pick(error, CAUSES_MAX);
}

function pick(error: unknown, causesLeft: number): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: blanked(String(error)) };
  const { code } = error as NodeJS.ErrnoException;
  return {
    type: error.name,
    message: blanked(error.message),
    ...(typeof code === 'string' && { code }),
    ...(error.stack !== undefined && { stack: blanked(error.stack) }),
    ...(error.cause !== undefined && causesLeft > 0 && { cause: pick(error.cause, causesLeft - 1) }),
  };
}

/** `postgres://user:password@host` without user and password. */
function blanked(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@]+@/giu, '$1[redacted]@');
}
