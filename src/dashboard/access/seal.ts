import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

import { isRecord } from '../../domain/scalars.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts small objects into cookies that the browser can neither read nor change. */
export interface Sealer {
  /** @param purpose - only this purpose can open the value. */
  seal(purpose: string, value: Readonly<Record<string, unknown>>): string;
  /** The value; `undefined` if the text was not sealed with this key for this purpose. */
  open(purpose: string, sealed: string): Readonly<Record<string, unknown>> | undefined;
}

/**
 * A sealer with AES-256-GCM.
 * @param secret - the same for all processes behind one address; `undefined`: a random one for this process only.
 * @param context - what the values depend on, such as the sign-in settings. Another context cannot open them.
 */
export function createSealer(secret: string | undefined, context: string): Sealer {
  const key = new Uint8Array(
    hkdfSync('sha256', secret ?? randomBytes(32), 'slipway dashboard', digest(context), 32),
  );
  return {
    seal(purpose, value) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, key, iv).setAAD(Buffer.from(purpose));
      const text = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
    },
    open(purpose, sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
        const value: unknown = JSON.parse(text.toString());
        return isRecord(value) ? value : undefined;
      } catch {
        // Sealed with another key, or changed: the browser has to sign in again.
        return undefined;
      }
    },
  };
}

/** HKDF accepts at most 1,024 bytes of context. */
function digest(context: string): Buffer {
  return createHash('sha256').update(context).digest();
}
