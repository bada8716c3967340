import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

import type { Context } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';

import { isRecord } from '../../domain/scalars.ts';
import type { Address } from './address.ts';
import { type PageEnv, Session } from './session.ts';

const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Cookies with small objects that the browser can neither read nor change. Only its own name opens a value. */
export class SealedCookies {
  readonly #key: Uint8Array;

  /**
   * @param secret - the same for all processes behind one address; `undefined`: a random one for this process only.
   * @param context - what the values depend on, such as the sign-in settings. Another context cannot open them.
   */
  constructor(secret: string | undefined, context: string) {
    const from = secret ?? randomBytes(32);
    this.#key = new Uint8Array(hkdfSync('sha256', from, 'slipway dashboard', digest(context), 32));
  }

  /** The browser's session; `undefined` if it has none, or it has ended. */
  session(c: Context<PageEnv>): Session | undefined {
    const session = Session.safeParse(this.read(c, 'session')).data;
    return session !== undefined && session.ends > Date.now() ? session : undefined;
  }

  startSession(c: Context<PageEnv>, session: Session): void {
    this.write(c, 'session', { ...session }, session.ends);
  }

  /** The opened value of a cookie; `undefined` if the browser has none that opens. */
  read(c: Context<PageEnv>, name: string): Readonly<Record<string, unknown>> | undefined {
    const sealed = getCookie(c, cookieName(c.get('address'), name));
    return sealed === undefined ? undefined : this.#open(name, sealed);
  }

  size(name: string, value: Readonly<Record<string, unknown>>): number {
    return this.#seal(name, value).length;
  }

  /** @param ends - when the cookie expires, in milliseconds since 1970. */
  write(c: Context<PageEnv>, name: string, value: Readonly<Record<string, unknown>>, ends: number): void {
    setCookie(c, cookieName(c.get('address'), name), this.#seal(name, value), {
      ...attributes(c.get('address')),
      expires: new Date(ends),
    });
  }

  remove(c: Context<PageEnv>, name: string): void {
    deleteCookie(c, cookieName(c.get('address'), name), attributes(c.get('address')));
  }

  #seal(name: string, value: Readonly<Record<string, unknown>>): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(ALGORITHM, this.#key, iv).setAAD(Buffer.from(name));
    const text = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
    return Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64url');
  }

  /** The value; `undefined` if the text was not sealed with this key for this name. */
  #open(name: string, sealed: string): Readonly<Record<string, unknown>> | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
    const decipher = createDecipheriv(ALGORITHM, this.#key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(name))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    try {
      const text = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
      const value: unknown = JSON.parse(text.toString());
      return isRecord(value) ? value : undefined;
    } catch {
      // Sealed with another key, or changed: the browser has to sign in again.
      return undefined;
    }
  }
}

/** `__Host-` requires TLS, which loopback has not. Cookies ignore ports, so the name separates two pages. */
function cookieName({ secure, origin }: Address, name: string): string {
  return secure ? `__Host-slipway-${name}` : `slipway-${name}-${new URL(origin).port}`;
}

function attributes({ secure }: Address) {
  return { path: '/', httpOnly: true, secure, sameSite: 'Lax' } as const;
}

/** HKDF accepts at most 1,024 bytes of context. */
function digest(context: string): Buffer {
  return createHash('sha256').update(context).digest();
}
