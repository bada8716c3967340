import { type DestinationStream, type Logger, pino } from 'pino';

import { invalidVariable } from '../errors.ts';

/** The places of secrets in logged objects. Their values are redacted in every line. */
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
 * The platform's logger: one JSON object per line to stderr, because stdout is for a command's answer. Errors (`err`)
 * are reduced to the fields of {@link loggedError}. `level` is pino's, from the environment variable
 * `SLIPWAY_LOG_LEVEL`, default `info`.
 */
export function createLogger(options: { level?: string; destination?: DestinationStream } = {}): Logger {
  return pino(
    {
      level: options.level ?? levelIn(process.env),
      serializers: { err: (error: unknown) => loggedError(error) },
      redact: { paths: REDACTED, censor: '[redacted]' },
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

const VARIABLE = 'SLIPWAY_LOG_LEVEL';

/** @throws PlatformError SLIPWAY_USAGE if the variable names no level. */
function levelIn({ [VARIABLE]: level = '' }: NodeJS.ProcessEnv): string {
  if (level === '') return 'info';
  if (level === 'silent' || Object.hasOwn(pino.levels.values, level)) return level;
  throw invalidVariable(VARIABLE, level, 'trace, debug, info, warn, error or silent');
}

const CAUSES_MAX = 5;

/**
 * The logged fields of an error: name, message, code, stack and causes. Drivers attach whole objects to their errors
 * (`pg` its client with all options, Node's URL parser its input), which may contain passwords. Users and passwords
 * of addresses are also redacted in texts.
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

/** Redacts user and password in `postgres://user:password@host`. */
function blanked(text: string): string {
  return text.replace(/(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#@]+@/giu, '$1[redacted]@');
}
