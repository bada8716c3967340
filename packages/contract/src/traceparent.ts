/** A W3C `traceparent` of version 00: the trace and the span that something belongs to. */
export const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/u;

/** The trace's id in a `traceparent`: 32 hexadecimal digits. */
export function traceIdOf(traceparent: string): string {
  return traceparent.split('-')[1] ?? '';
}
