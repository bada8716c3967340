import { pino, type DestinationStream, type Logger } from 'pino';

import { loggedError } from './loggedError.ts';

/** Where secrets could stand in what is logged. Values there are replaced, whoever logs them. */
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
      serializers: { err: loggedError },
      redact: { paths: REDACTED, censor: '[redacted]' },
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}
