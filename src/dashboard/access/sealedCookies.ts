import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

import type { Address } from './address.ts';
import type { PageEnv } from './pageEnv.ts';
import type { Sealer } from './seal.ts';
import { isSession, type Session } from './session.ts';

export class SealedCookies {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The browser's session; `undefined` if it has none, or it has ended. */
  session(c: Context<PageEnv>): Session | undefined {
    const value = this.read(c, 'session');
    return value !== undefined && isSession(value) && value.ends > Date.now() ? value : undefined;
  }

  startSession(c: Context<PageEnv>, session: Session): void {
    this.write(c, 'session', { ...session }, session.ends);
  }

  /** The opened value of a cookie; `undefined` if the browser has none that opens. */
  read(c: Context<PageEnv>, name: string): Readonly<Record<string, unknown>> | undefined {
    const sealed = getCookie(c, cookieName(c.get('address'), name));
    return sealed === undefined ? undefined : this.#sealer.open(name, sealed);
  }

  size(name: string, value: Readonly<Record<string, unknown>>): number {
    return this.#sealer.seal(name, value).length;
  }

  /** @param ends - when the cookie expires, in milliseconds since 1970. */
  write(c: Context<PageEnv>, name: string, value: Readonly<Record<string, unknown>>, ends: number): void {
    setCookie(c, cookieName(c.get('address'), name), this.#sealer.seal(name, value), {
      ...attributes(c.get('address')),
      expires: new Date(ends),
    });
  }

  remove(c: Context<PageEnv>, name: string): void {
    setCookie(c, cookieName(c.get('address'), name), '', { ...attributes(c.get('address')), maxAge: 0 });
  }
}

/** `__Host-` requires TLS, which loopback has not. Cookies ignore ports, so the name separates two pages. */
function cookieName({ secure, origin }: Address, name: string): string {
  return secure ? `__Host-slipway-${name}` : `slipway-${name}-${new URL(origin).port}`;
}

function attributes({ secure }: Address) {
  return { path: '/', httpOnly: true, secure, sameSite: 'Lax' } as const;
}
