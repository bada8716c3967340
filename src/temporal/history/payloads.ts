import type { WorkflowHandle } from '@temporalio/client';

import { parsedJson } from '../../domain/scalars.ts';
import { isEncrypted, keyMissing } from '../codec/payloadCipher.ts';

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
export type HistoryEvent = NonNullable<History['events']>[number];
export type Payloads = NonNullable<HistoryEvent['activityTaskScheduledEventAttributes']>['input'];

/** The first of an event's payloads; `undefined` if there is none. */
export function decode(payloads: Payloads): unknown {
  return decodeAll(payloads)[0];
}

/**
 * An event's payloads; `undefined` for each empty one. A raw signal may contain invalid JSON: it is returned as text,
 * which no handler accepts as a message.
 * @throws SlipwayError SLIPWAY_PAYLOAD_KEY_MISSING if a payload is still encrypted because there was no key.
 */
export function decodeAll(payloads: Payloads): unknown[] {
  return (payloads?.payloads ?? []).map((payload) => {
    if (isEncrypted(payload)) throw keyMissing(payload);
    const { metadata, data } = payload;
    const encoding = Buffer.from(metadata?.['encoding'] ?? '').toString();
    if (data == null || encoding === 'binary/null') return undefined;
    const text = Buffer.from(data).toString('utf8');
    const value = encoding === 'json/plain' ? parsedJson(text) : undefined;
    return value === undefined ? text : value;
  });
}

/** The end of an activity, in any way: the attributes that all its events have. */
export function activityEndOf(event: HistoryEvent) {
  return (
    event.activityTaskCompletedEventAttributes ??
    event.activityTaskFailedEventAttributes ??
    event.activityTaskTimedOutEventAttributes ??
    event.activityTaskCanceledEventAttributes
  );
}

/** When an event was written, in milliseconds since 1970; 0 if there is none. */
export function timeOf(event: HistoryEvent | undefined): number {
  const time = event?.eventTime;
  return Number(time?.seconds ?? 0) * 1_000 + (time?.nanos ?? 0) / 1_000_000;
}

/** All texts in a history, including payloads, as one text. */
export function asText(history: History): string {
  return [...textsIn(history)].join('\n');
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Uint8Array) yield Buffer.from(value).toString('utf8');
  else if (typeof value === 'object' && value !== null)
    for (const [name, part] of Object.entries(value)) {
      yield name;
      yield* textsIn(part);
    }
}
