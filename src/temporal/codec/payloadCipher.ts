import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';

import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import protos from '@temporalio/proto';

import { PAYLOAD_KEYS, type PayloadKey } from '../../config/payloadKeys.ts';
import { SlipwayError } from '../../domain/errors.ts';

const { Payload: Message } = protos.temporal.api.common.v1;

const CIPHER = 'aes-256-gcm';
const ENCRYPTED = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts payloads with AES-256-GCM and the first key. Decrypts each with the key that its metadata names. Payloads
 * that are not encrypted stay readable, for example those from before a key was configured. Without keys, nothing is
 * encrypted, and decoding an encrypted payload fails, so that no workflow acts on encrypted bytes.
 *
 * The format is that of Temporal's sample codecs: `encoding` is `binary/encrypted`, `encryption-key-id` names the
 * key, and the data are a nonce of 12 bytes, the encrypted payload as protobuf has it, and a tag of 16 bytes.
 */
export class PayloadCipher implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #first: PayloadKey | undefined;

  /** @param keys - the first one encrypts, all decrypt. */
  constructor(keys: readonly PayloadKey[]) {
    [this.#first] = keys;
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  get keyIds(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** Encrypts payloads, except null ones, because the server itself removes a memo field whose value is null. */
  encode(payloads: Payload[]): Promise<Payload[]> {
    const first = this.#first;
    if (first === undefined) return Promise.resolve(payloads);
    return Promise.resolve(
      payloads.map((payload) => (encodingOf(payload) === 'binary/null' ? payload : encrypt(payload, first))),
    );
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- What it throws rejects.
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? this.#decrypt(payload) : payload));
  }

  #decrypt(payload: Payload): Payload {
    const id = keyIdOf(payload);
    const key = this.#keys.get(id);
    if (key === undefined) throw keyMissing(payload, this.keyIds);
    const data = payload.data ?? new Uint8Array();
    try {
      const decipher = createDecipheriv(CIPHER, key, data.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAuthTag(data.subarray(-TAG_BYTES));
      const bytes = Buffer.concat([
        decipher.update(data.subarray(NONCE_BYTES, -TAG_BYTES)),
        decipher.final(),
      ]);
      const { metadata, data: decrypted } = Message.decode(bytes);
      return { metadata, data: decrypted };
    } catch (error) {
      const what = `a payload could not be decrypted with the key "${id}"`;
      const hint = `give "${id}" the key that the payload was encrypted with: a key's id must never get another key`;
      throw new SlipwayError('SLIPWAY_PAYLOAD_UNREADABLE', what, { place: PAYLOAD_KEYS, hint, cause: error });
    }
  }
}

/** Encrypts nothing, and rejects encrypted payloads. */
export const NO_KEYS = new PayloadCipher([]);

function encrypt(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const encrypted = [cipher.update(Message.encode(payload).finish()), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCRYPTED), [KEY_ID]: Buffer.from(id) },
    data: Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]),
  };
}

/** Whether a {@link PayloadCipher} made the payload. */
export function isEncrypted(payload: Payload): boolean {
  return encodingOf(payload) === ENCRYPTED && payload.metadata?.[KEY_ID] != null;
}

export function keyMissing(payload: Payload, known: readonly string[] = []): SlipwayError {
  const id = keyIdOf(payload);
  const has =
    known.length === 0
      ? 'this process has no payload keys'
      : `this process has ${known.map((key) => `"${key}"`).join(', ')}`;
  const what = `a payload in Temporal is encrypted with the key "${id}", and ${has}`;
  const hint = `add the key, as every worker has it: ${PAYLOAD_KEYS}="${id}=file:/absolute/path"`;
  return new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', what, { place: PAYLOAD_KEYS, hint });
}

/** The id of the key that was missing, from the message of {@link keyMissing}; `undefined` for other messages. */
export function missingKeyIn(message: string): string | undefined {
  return /is encrypted with the key "([^"]*)", and this process has/u.exec(message)?.[1];
}

function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.['encoding'];
  return encoding == null ? '' : Buffer.from(encoding).toString();
}

/** The id of an encrypted payload's key, with unprintable characters replaced. */
export function keyIdOf({ metadata }: Payload): string {
  return Buffer.from(metadata?.[KEY_ID] ?? '')
    .toString()
    .replace(/[^\w.-]/gu, '?')
    .slice(0, 64);
}

const FAILURE_CONVERTER = fileURLToPath(new URL('./failureConverter.cjs', import.meta.url));

/** The data converter of a worker. @param codec - absent: no encryption. */
export function workerCodec(codec: PayloadCipher | undefined): DataConverter {
  return codec === undefined
    ? { payloadCodecs: [NO_KEYS] }
    : { payloadCodecs: [codec], failureConverterPath: FAILURE_CONVERTER };
}
