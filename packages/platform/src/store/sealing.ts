import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

import { PlatformError } from '../errors.ts';

/** Encrypts and decrypts small stored values. */
export interface Sealing {
  /** `context` (an id) is authenticated: a sealed value copied to another row does not open there. */
  seal(plaintext: string, context: string): string;
  /** @throws PlatformError SLIPWAY_MASTER_KEY_WRONG if key, context or value differ from those it was sealed with. */
  open(sealed: string, context: string): string;
}

const VERSION = 'v1';

/** Sealing by AES-256-GCM: `v1.<nonce>.<tag>.<ciphertext>`, each in base64url; `key` is 32 bytes. */
export function createSealing(key: Buffer): Sealing {
  return {
    seal: (plaintext, context) => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context));
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return [
        VERSION,
        ...[nonce, cipher.getAuthTag(), ciphertext].map((part) => part.toString('base64url')),
      ].join('.');
    },
    open: (sealed, context) => {
      const [version, nonce, tag, ciphertext] = sealed.split('.');
      if (version !== VERSION || nonce === undefined || tag === undefined || ciphertext === undefined) {
        throw wrongKeyError();
      }
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(nonce, 'base64url'), {
          authTagLength: 16,
        })
          .setAAD(Buffer.from(context))
          .setAuthTag(Buffer.from(tag, 'base64url'));
        return Buffer.concat([
          decipher.update(Buffer.from(ciphertext, 'base64url')),
          decipher.final(),
        ]).toString();
      } catch (error) {
        throw wrongKeyError(error);
      }
    },
  };
}

function wrongKeyError(cause?: unknown): PlatformError {
  return new PlatformError(
    'SLIPWAY_MASTER_KEY_WRONG',
    'A stored secret cannot be decrypted with this master key',
    { hint: 'Start the platform with the master key that it was first started with.', cause },
  );
}

/**
 * A sealing whose key changes. It seals with the newest key, and opens values of that key and the previous one. Two are
 * enough, because a rotation begins only after the previous one has ended, so no stored value is older.
 */
export class RotatingSealing implements Sealing {
  #key: Buffer;
  #newest: Sealing;
  #previous: Sealing | undefined;

  constructor(key: Buffer) {
    this.#key = key;
    this.#newest = createSealing(key);
  }

  seal(plaintext: string, context: string): string {
    return this.#newest.seal(plaintext, context);
  }

  open(sealed: string, context: string): string {
    // An authenticated value opens only with the key that sealed it.
    if (this.#previous === undefined || this.isNewest(sealed, context))
      return this.#newest.open(sealed, context);
    return this.#previous.open(sealed, context);
  }

  /** Seals with this key from now on; the newest key again changes nothing. */
  rotateTo(next: Buffer): void {
    if (next.equals(this.#key)) return;
    this.#previous = this.#newest;
    this.#key = next;
    this.#newest = createSealing(next);
  }

  /** Whether the newest key has sealed a value. */
  isNewest(sealed: string, context: string): boolean {
    try {
      this.#newest.open(sealed, context);
      return true;
    } catch {
      return false;
    }
  }
}
