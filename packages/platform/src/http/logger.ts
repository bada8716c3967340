import { type DestinationStream, type Logger, pino } from 'pino';

/** Where secrets could stand in what is logged. Values there are replaced in every log line. */
const REDACTED = [
  'apiKey',
  'secrets',
  'env',
  'connectionString',
  'headers["x-api-key"]',
  'headers.authorization',
  'req.headers["x-api-key"]',
  'req.headers.authorization',
  '*.apiKey',
  '*.secrets',
  '*.env',
  '*.connectionString',
];

/**
 * The platform's logger: one JSON object per line, to stderr, so that stdout stays for what a command answers. Of an
 * error (`err`) only what {@link loggedError} picks is written.
 * `level` is pino's, from the environment variable `SLIPWAY_LOG_LEVEL`, default `info`.
 */
export function createLogger(options: { level?: string; destination?: DestinationStream } = {}): Logger {
  return pino(
    {
      level: options.level ?? process.env['SLIPWAY_LOG_LEVEL'] ?? 'info',
      serializers: { err: (error: unknown) => loggedError(error) },
      redact: { paths: REDACTED, censor: '[redacted]' },
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** How far a chain of causes is followed. */
const CAUSES_MAX = 5;

/**
 * Picks what a log line holds of an error: its name, message, code, stack and causes, and nothing else. Drivers hang
 * whole objects on their errors (`pg` its client, with every option it was given; Node's URL parser its input), and
 * passwords stand in those. The user's part of an address is blanked in texts too.
 */
function loggedError(error: unknown, causesLeft = CAUSES_MAX): object {
  if (!(error instanceof Error)) return { type: typeof error, message: blanked(String(error)) };
  const { code } = error as { code?: unknown };
  const hasCause = error.cause !== undefined && causesLeft > 0;
  return {
    type: error.name,
    message: blanked(error.message),
    code: typeof code === 'string' ? code : undefined,
    stack: error.stack && blanked(error.stack),
    cause: hasCause ? loggedError(error.cause, causesLeft - 1) : undefined,
  };
}

/** `postgres://user:password@host` without user and password. */
function blanked(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@]+@/giu, '$1[redacted]@');
}
