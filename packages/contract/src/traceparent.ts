/** A W3C `traceparent` of version 00: a trace id and a span id. */
export const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/u;

/** The trace id of a `traceparent`: 32 hexadecimal digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.split('-')[1] ?? '';
}
