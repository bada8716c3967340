import { randomBytes } from 'node:crypto';

import type { Context } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';

import { isRecord } from '../../domain/scalars.ts';
import type { Address } from './address.ts';
import type { Sealer } from './seal.ts';
import { ROLES, type Viewer } from './viewer.ts';

/** A session ends after so many milliseconds at the latest. */
const SESSION_MS = 12 * 3_600_000;

/** What a browser's cookie holds, sealed: no process keeps sessions, so any of them can answer. */
export interface Session {
  /** Absent: the viewer has not signed in. */
  readonly viewer?: Viewer;
  /** What every form sends back, so that no other site can send one. */
  readonly csrf: string;
  /** When it ends, in milliseconds since 1970. */
  readonly ends: number;
}

/**
 * A new session. Each sign-in begins one, so that a session prepared by another person is never continued.
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

const KEY = 'session';

/** The token that every form of the page sends back; a route that `requireViewer` does not stand before fails. */
export function csrfOf(c: Context): string {
  const session = c.get(KEY) as Session | undefined;
  if (session === undefined) throw new Error('A route was reached without asking for its session.');
  return session.csrf;
}

/** Puts a session into a request's context. */
export function setSession(c: Context, session: Session): void {
  c.set(KEY, session);
}

/** The cookies of the page, sealed. */
export class SealedCookies {
  readonly #sealer: Sealer;

  constructor(sealer: Sealer) {
    this.#sealer = sealer;
  }

  /** The session that the browser sent; `undefined` if it has none, or it has ended. */
  session(c: Context, address: Address): Session | undefined {
    const value = this.read(c, address, 'session');
    return value !== undefined && isSession(value) && value.ends > Date.now() ? value : undefined;
  }

  /** Sends a session to the browser. */
  startSession(c: Context, address: Address, session: Session): void {
    this.write(c, address, 'session', { ...session }, session.ends);
  }

  /** What was sealed into a cookie of the browser; `undefined` if it has none that opens. */
  read(c: Context, address: Address, name: string): Readonly<Record<string, unknown>> | undefined {
    const sealed = getCookie(c, cookieName(address, name));
    return sealed === undefined ? undefined : this.#sealer.open(name, sealed);
  }

  /** How large a cookie is with its value sealed, in bytes. */
  size(name: string, value: Readonly<Record<string, unknown>>): number {
    return this.#sealer.seal(name, value).length;
  }

  /** @param ends - when the browser forgets it, in milliseconds since 1970. */
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

  /** Has the browser forget a cookie. */
  remove(c: Context, address: Address, name: string): void {
    setCookie(c, cookieName(address, name), '', { ...attributes(address), maxAge: 0 });
  }
}

/**
 * `__Host-` has the browser refuse the cookie without TLS, and from neighboring hosts. Loopback addresses do without; the port
 * in the name keeps two pages on one machine apart, because cookies do not.
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
