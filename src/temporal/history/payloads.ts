import type { WorkflowHandle } from '@temporalio/client';

import { isEncrypted, keyMissing } from '../codec/payloadCipher.ts';

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
 *
 * @throws SlipwayError SLIPWAY_PAYLOAD_KEY_MISSING for one that is still encrypted: there was no key.
 */
export function decodeAll(payloads: Payloads): unknown[] {
  return (payloads?.payloads ?? []).map((payload) => {
    if (isEncrypted(payload)) throw keyMissing(payload);
    const { metadata, data } = payload;
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
    // The value as it was before its `toJSON`: that of a message writes all bytes in base64, that of `Buffer` as numbers.
    const given = this[name];
    if (given instanceof Uint8Array) return Buffer.from(given).toString('utf8');
    return typeof given === 'object' && given !== null && !Array.isArray(given) ? { ...given } : value;
  });
}
