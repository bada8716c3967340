import type { Context } from 'hono';

import { isLoopback } from '../../config/environment.ts';
import { AccessRefusal } from './accessRefusal.ts';

export interface Address {
  /** `https://slipway.example.com`, without a trailing slash. */
  readonly origin: string;
  /** Whether cookies require TLS. They do not only on loopback addresses. */
  readonly secure: boolean;
}

/**
 * The page's address for a request: the configured one, or the request's own if it is a loopback address. Other names
 * are refused, because another site could resolve its name to this server (DNS rebinding).
 * @throws AccessRefusal SLIPWAY_DASHBOARD_ADDRESS (421).
 */
export function addressOf(c: Context, publicUrl: URL | undefined): Address {
  if (publicUrl !== undefined) {
    return { origin: publicUrl.origin, secure: publicUrl.protocol === 'https:' };
  }
  const named = `http://${c.req.header('host') ?? ''}`;
  const url = URL.canParse(named) ? new URL(named) : undefined;
  if (url === undefined || !isLoopback(url.hostname)) {
    const what = 'this page does not know the address that you opened it by';
    const hint =
      'set SLIPWAY_DASHBOARD_URL to the https address of this page and start it again, or open it as http://localhost';
    throw new AccessRefusal(421, 'SLIPWAY_DASHBOARD_ADDRESS', what, { hint });
  }
  return { origin: url.origin, secure: false };
}

/** A base that no real address has: a path that resolves to another origin leaves the page. */
const BASE = 'http://page.invalid';

/** A path of this page to open after signing in. Anything else becomes `/`, in any spelling of browsers. */
export function returnPath(asked: string | undefined): string {
  if (asked?.startsWith('/') !== true || !URL.canParse(asked, BASE)) return '/';
  const { origin, pathname, search } = new URL(asked, BASE);
  // `/.//other.example` resolves to the path `//other.example`, which browsers read as another host.
  if (origin !== BASE || pathname.startsWith('//')) return '/';
  return /^\/sign(?:-in|-out|ed-out)(?:\/|$)/u.test(pathname) ? '/' : `${pathname}${search}`;
}
