import { randomBytes } from 'node:crypto';

import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

import { isRecord } from '../../domain/scalars.ts';
import type { Address } from './address.ts';
import type { Sealer } from './seal.ts';
import { ROLES, type Viewer } from './viewer.ts';

/** The longest session, in milliseconds. */
const SESSION_MS = 12 * 3_600_000;

/** The content of a browser's sealed cookie. No process stores sessions, so any process can answer. */
export interface Session {
  /** Absent: the viewer has not signed in. */
  readonly viewer?: Viewer;
  /** The token that every form sends back, so that other sites cannot send forms. */
  readonly csrf: string;
  /** When it ends, in milliseconds since 1970. */
  readonly ends: number;
}

/**
 * A new session. Each sign-in begins one, so that a session from another person is never continued.
 *
 * @param ends - when it ends at the latest, in milliseconds since 1970.
 */
export function newSession(viewer: Viewer | undefined, ends = Infinity): Session {
  return {
    viewer,
    csrf: randomBytes(24).toString('base64url'),
    ends: Math.min(ends, Date.now() + SESSION_MS),
  };
}

/** The page's sealed cookies. */
export class SealedCookies {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The browser's session; `undefined` if it has none, or it has ended. */
  session(c: Context, address: Address): Session | undefined {
    const value = this.read(c, address, 'session');
    return value !== undefined && isSession(value) && value.ends > Date.now() ? value : undefined;
  }

  /** Sends a session to the browser. */
  startSession(c: Context, address: Address, session: Session): void {
    this.write(c, address, 'session', { ...session }, session.ends);
  }

  /** The opened value of a cookie; `undefined` if the browser has none that opens. */
  read(c: Context, address: Address, name: string): Readonly<Record<string, unknown>> | undefined {
    const sealed = getCookie(c, cookieName(address, name));
    return sealed === undefined ? undefined : this.#sealer.open(name, sealed);
  }

  /** The size of a cookie with its sealed value, in bytes. */
  size(name: string, value: Readonly<Record<string, unknown>>): number {
    return this.#sealer.seal(name, value).length;
  }

  /** @param ends - when the cookie expires, in milliseconds since 1970. */
  write(
    c: Context,
    address: Address,
    name: string,
    value: Readonly<Record<string, unknown>>,
    ends: number,
  ): void {
    setCookie(c, cookieName(address, name), this.#sealer.seal(name, value), {
      ...attributes(address),
      expires: new Date(ends),
    });
  }

  remove(c: Context, address: Address, name: string): void {
    setCookie(c, cookieName(address, name), '', { ...attributes(address), maxAge: 0 });
  }
}

/**
 * `__Host-` makes the browser refuse the cookie without TLS, and from sibling hosts. Loopback addresses have no TLS.
 * Cookies ignore ports, so the port in the name separates two pages on one machine.
 */
function cookieName({ secure, origin }: Address, name: string): string {
  return secure ? `__Host-slipway-${name}` : `slipway-${name}-${new URL(origin).port}`;
}

function attributes({ secure }: Address) {
  return { path: '/', httpOnly: true, secure, sameSite: 'Lax' } as const;
}

function isSession(value: unknown): value is Session {
  if (!isRecord(value) || typeof value['csrf'] !== 'string' || typeof value['ends'] !== 'number')
    return false;
  const { viewer } = value;
  return (
    viewer === undefined ||
    (isRecord(viewer) &&
      typeof viewer['name'] === 'string' &&
      typeof viewer['proved'] === 'boolean' &&
      ROLES.some((role) => role === viewer['role']))
  );
}
