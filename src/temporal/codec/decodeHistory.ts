import type { Payload, PayloadCodec } from '@temporalio/common';

import type { HistoryEvent } from '../history/payloads.ts';
import { isEncrypted, keyIdOf } from './payloadCipher.ts';

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
