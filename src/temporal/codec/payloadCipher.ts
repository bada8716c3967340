import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

import type { Payload, PayloadCodec } from '@temporalio/common';

import { PAYLOAD_KEYS, type PayloadKey } from '../../config/payloadKeys.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { payloadFromBytes, payloadToBytes } from './payloadBytes.ts';

const CIPHER = 'aes-256-gcm';
const ENCRYPTED = 'binary/encrypted';
const KEY_ID = 'encryption-key-id';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts payloads with AES-256-GCM under the first key, and decrypts them with whichever key their metadata names. What
 * is not encrypted is read as it is, so payloads from before a key was configured stay readable. Without keys nothing is
 * encrypted, and an encrypted payload is an error instead of bytes that a workflow would act on.
 *
 * The form is that of Temporal's sample codecs: `encoding` is `binary/encrypted`, `encryption-key-id` names the key, and
 * the data are a nonce of 12 bytes, the encrypted payload, and a tag of 16 bytes.
 */
export class PayloadCipher implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #first: PayloadKey | undefined;

  /** @param keys - the first one encrypts, each decrypts. */
  constructor(keys: readonly PayloadKey[]) {
    [this.#first] = keys;
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** Encrypts payloads. One that says "there is nothing" stays: the server itself removes such an entry of a memo. */
  encode(payloads: Payload[]): Promise<Payload[]> {
    const first = this.#first;
    if (first === undefined) return Promise.resolve(payloads);
    return Promise.resolve(
      payloads.map((payload) => (encodingOf(payload) === 'binary/null' ? payload : encrypt(payload, first))),
    );
  }

  /**
   * Decrypts payloads.
   *
   * @throws SlipwayError SLIPWAY_PAYLOAD_KEY_MISSING, SLIPWAY_PAYLOAD_UNREADABLE.
   */
  // eslint-disable-next-line @typescript-eslint/require-await -- What it throws rejects.
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => (isEncrypted(payload) ? this.#decrypt(payload) : payload));
  }

  #decrypt(payload: Payload): Payload {
    const id = keyIdOf(payload);
    const key = this.#keys.get(id);
    if (key === undefined) throw keyMissing(payload, [...this.#keys.keys()]);
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
      return payloadFromBytes(bytes);
    } catch (error) {
      throw new SlipwayError(
        'SLIPWAY_PAYLOAD_UNREADABLE',
        `a payload could not be decrypted with the key "${id}"`,
        {
          place: PAYLOAD_KEYS,
          hint: `give "${id}" the key that the payload was encrypted with: a key's id must never get another key`,
          cause: error,
        },
      );
    }
  }
}

/** Encrypts nothing, and refuses what is encrypted. */
export const NO_KEYS = new PayloadCipher([]);

function encrypt(payload: Payload, { id, key }: PayloadKey): Payload {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  const encrypted = [cipher.update(payloadToBytes(payload)), cipher.final()];
  return {
    metadata: { encoding: Buffer.from(ENCRYPTED), [KEY_ID]: Buffer.from(id) },
    data: Buffer.concat([nonce, ...encrypted, cipher.getAuthTag()]),
  };
}

/** Whether a payload is one that a {@link PayloadCipher} made. */
export function isEncrypted(payload: Payload): boolean {
  return encodingOf(payload) === ENCRYPTED && payload.metadata?.[KEY_ID] != null;
}

/** What says that an encrypted payload cannot be read, and what to set. */
export function keyMissing(payload: Payload, known: readonly string[] = []): SlipwayError {
  const id = keyIdOf(payload);
  const has =
    known.length === 0
      ? 'this process has no payload keys'
      : `this process has ${known.map((key) => `"${key}"`).join(', ')}`;
  return new SlipwayError(
    'SLIPWAY_PAYLOAD_KEY_MISSING',
    `a payload in Temporal is encrypted with the key "${id}", and ${has}`,
    {
      place: PAYLOAD_KEYS,
      hint: `add the key, as every worker has it: ${PAYLOAD_KEYS}="${id}=file:/absolute/path"`,
    },
  );
}

function encodingOf({ metadata }: Payload): string {
  const encoding = metadata?.['encoding'];
  return encoding == null ? '' : Buffer.from(encoding).toString();
}

/** Printable, whatever the payload says. */
function keyIdOf({ metadata }: Payload): string {
  return Buffer.from(metadata?.[KEY_ID] ?? '')
    .toString()
    .replace(/[^\w.-]/gu, '?')
    .slice(0, 64);
}
