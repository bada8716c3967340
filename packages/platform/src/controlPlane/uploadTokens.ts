import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long an upload URL is good for, in milliseconds: an hour. */
export const UPLOAD_URL_MS = 3_600_000;

/** What a token permits: one upload to an object path, of so many bytes where that was said when it was asked for. */
export interface UploadGrant {
  readonly objectPath: string;
  readonly contentLength: number | null;
  /** The key that asked for it: the upload is recorded as that key's. */
  readonly askedBy: { readonly keyId: string; readonly keyName: string };
}

/** What a token says, or why it says nothing. */
type TokenReading =
  | { readonly ok: true; readonly grant: UploadGrant }
  | { readonly ok: false; readonly why: 'invalid' | 'expired' };

/** Signed tokens, each for one object path, a limited time, and a length where one was given. */
export interface UploadTokens {
  sign(grant: UploadGrant, now?: number): string;
  read(token: string, now?: number): TokenReading;
}

/** Tokens signed by HMAC-SHA256 with a 32-byte key: `<payload>.<signature>`, both in base64url. */
export function createUploadTokens(key: Buffer): UploadTokens {
  const signatureOf = (payload: string): string =>
    createHmac('sha256', key).update(payload).digest('base64url');
  return {
    sign: ({ objectPath, contentLength, askedBy }, now = Date.now()) => {
      const claims = [objectPath, now + UPLOAD_URL_MS, contentLength, askedBy.keyId, askedBy.keyName];
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
      return `${payload}.${signatureOf(payload)}`;
    },
    read: (token, now = Date.now()) => {
      // Compared as texts: a decoder overlooks what does not belong, and a token has one spelling.
      const [payload = '', ...rest] = token.split('.');
      const given = Buffer.from(rest.join('.'));
      const expected = Buffer.from(signatureOf(payload));
      if (given.length !== expected.length || !timingSafeEqual(given, expected))
        return { ok: false, why: 'invalid' };
      // Signed by us, so it has the shape that we gave it.
      const [objectPath, expires, contentLength, keyId, keyName] = JSON.parse(
        Buffer.from(payload, 'base64url').toString(),
      ) as [string, number, number | null, string, string];
      return now < expires
        ? { ok: true, grant: { objectPath, contentLength, askedBy: { keyId, keyName } } }
        : { ok: false, why: 'expired' };
    },
  };
}
