import type { WorkflowHandle } from '@temporalio/client';

/** One workflow's history, as Temporal hands it out. */
export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
export type HistoryEvent = NonNullable<History['events']>[number];
export type Payloads = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>['input'];

/** The first of an event's payloads; `undefined` if there is none. */
export function decode(payloads: Payloads): unknown {
  return decodeAll(payloads)[0];
}

/**
 * An event's payloads; `undefined` for each that holds nothing. Anybody can send a signal that is no JSON, or only claims
 * to be: it is read as a text, which no handler takes for a message.
 */
export function decodeAll(payloads: Payloads): unknown[] {
  return (payloads?.payloads ?? []).map(({ metadata, data }) => {
    const encoding = Buffer.from(metadata?.['encoding'] ?? '').toString();
    if (data == null || encoding === 'binary/null') return undefined;
    const text = Buffer.from(data).toString('utf8');
    if (encoding !== 'json/plain') return text;
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError) return text;
      throw error;
    }
  });
}

/** When an event was written, in milliseconds since 1970; 0 for none. */
export function timeOf(event: HistoryEvent | undefined): number {
  const time = event?.eventTime;
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}

/** Everything that a history holds, payloads too, as one text. */
export function asText(history: History): string {
  return JSON.stringify(history, function (this: Readonly<Record<string, unknown>>, name, value: unknown) {
    // What is told here of a payload's bytes is their list of numbers: `Buffer` has a `toJSON` of its own.
    const bytes = this[name];
    return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('utf8') : value;
  });
}
