export { isRecord, parsedJson } from '@slipway/contract/json';

/**
 * A point in time, in ISO 8601 with an offset: `2026-11-23T14:00:00.000Z`.
 *
 * @format date-time
 */
export type Instant = string;

/**
 * A count, or a duration in milliseconds.
 * @asType integer
 * @minimum 0
 */
export type WholeNumber = number;

/**
 * The exit code of a command (docs/exit-codes.md).
 * @asType integer
 * @minimum 0
 * @maximum 255
 */
export type ExitCode = number;

/**
 * An id from the control plane.
 * @format uuid
 */
export type Uuid = string;

/** A number in four digits: 0.12, 1234, 0.00001235. */
export function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** A time to the second, as every text shows it: `2026-11-21 13:14:00Z`. `time` in UTC. */
export function exactText(time: Instant): string {
  return time.replace(/T(?<clock>\d\d:\d\d:\d\d)(?:\.\d+)?Z$/u, ' $<clock>Z');
}
