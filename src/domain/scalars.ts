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

/** Whether a value is an object with fields, not a list. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Parses a text as JSON. @returns `undefined` if it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** A number in four digits: 0.12, 1234, 0.00001235. */
export function figure(value: number): string {
  return String(Number(value.toPrecision(4)));
}
