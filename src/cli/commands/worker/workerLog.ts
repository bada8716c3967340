import { DefaultLogger, type LogEntry, Runtime } from '@temporalio/worker';

import type { MetricsExporter } from '../../../metrics/exporter.ts';

/**
 * Makes this process's worker log to stderr. Call it before any other use of the SDK's runtime. By default the native
 * code logs to stdout, between the command's own output.
 * @param level - `INFO`: also the native code's warnings; `ERROR`: only errors.
 * @param metrics - where metrics go. Default: nowhere.
 * @throws the error of the metrics server.
 */
export function logOnStderr(level: 'INFO' | 'ERROR', metrics?: MetricsExporter): void {
  const core = level === 'INFO' ? 'WARN' : 'ERROR';
  Runtime.install({
    logger: new DefaultLogger(level, (entry) => process.stderr.write(`${logLine(entry)}\n`)),
    telemetryOptions: { logging: { filter: { core, other: 'ERROR' }, forward: {} }, metrics },
  });
}

const LEVELS: Readonly<Record<LogEntry['level'], number>> = {
  TRACE: 10,
  DEBUG: 20,
  INFO: 30,
  WARN: 40,
  ERROR: 50,
};

/**
 * One JSON object, as the platform logs: `level` (pino's numbers), `time`, `msg`, and the line's context, without the token
 * by which anyone who reaches Temporal could answer for the activity.
 */
export function logLine({ level, timestampNanos, message, meta = {} }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  const { error, taskToken: _, ...about } = meta as Record<string, unknown>;
  const err = error instanceof Error ? { err: describeError(error) } : error === undefined ? {} : { error };
  return JSON.stringify({ level: LEVELS[level], time, msg: message, ...about, ...err }, plain);
}

const CAUSES_MAX = 5;

function describeError(error: Error, causesLeft = CAUSES_MAX): object {
  const { name, message, stack, cause } = error;
  const isFollowed = cause instanceof Error && causesLeft > 0;
  return { type: name, message, stack, cause: isFollowed ? describeError(cause, causesLeft - 1) : undefined };
}

/** JSON has no BigInt. */
function plain(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
