import type { WorkflowHandle } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';

import { parsedJson } from '../../domain/scalars.ts';
import { isEncrypted, keyIdOf, keyMissing } from '../codec/payloadCipher.ts';

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

type Attributes = Record<string, unknown>;

/**
 * Decodes every payload of some events in place, and restores each failure's message and stack trace.
 * @throws what the codec throws.
 */
export async function decodeEvents(codec: PayloadCodec, events: readonly HistoryEvent[]): Promise<void> {
  for (const event of events) await decodeWithin(codec, event as unknown as Attributes);
}

/** The ids of the keys with which payloads anywhere in a message of Temporal are encrypted. */
export function keyIdsIn(message: object): ReadonlySet<string> {
  if (isPayload(message)) return new Set(isEncrypted(message) ? [keyIdOf(message)] : []);
  if (message instanceof Uint8Array) return new Set();
  const within = Object.values(message).filter((value) => typeof value === 'object' && value !== null);
  return new Set(within.flatMap((value: object) => [...keyIdsIn(value)]));
}

async function decodeWithin(codec: PayloadCodec, holder: Attributes): Promise<void> {
  for (const [name, value] of Object.entries(holder)) {
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) continue;
    if (isPayload(value)) [holder[name]] = await codec.decode([value]);
    else await decodeWithin(codec, value as Attributes);
  }
  restoreFailure(holder);
}

function isPayload(value: object): value is Payload {
  const { metadata } = value as Payload;
  return typeof metadata === 'object' && metadata !== null && 'encoding' in metadata;
}

function restoreFailure(failure: Attributes): void {
  const encoded = failure['encodedAttributes'] as Payload | null | undefined;
  if (encoded?.data == null) return;
  const { message, stack_trace: stackTrace } = JSON.parse(Buffer.from(encoded.data).toString()) as {
    readonly message?: unknown;
    readonly stack_trace?: unknown;
  };
  if (typeof message === 'string') failure['message'] = message;
  if (typeof stackTrace === 'string') failure['stackTrace'] = stackTrace;
  delete failure['encodedAttributes'];
}
