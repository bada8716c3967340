import { sameSecret } from '@slipway/contract/sameSecret';
import type { Context } from 'hono';

import { AccessRefusal } from './accessRefusal.ts';
import type { PageEnv, Session } from './session.ts';

/** The form field, and the header of the page's own scripts, that carries the session's token. */
export const CSRF_FIELD = 'csrf';
const CSRF_HEADER = 'x-csrf-token';

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses a changing request unless a page of this address sent it with the session's token.
 * @throws AccessRefusal SLIPWAY_CROSS_SITE_REQUEST (403).
 */
export async function refuseCrossSite(c: Context<PageEnv>, session: Session): Promise<void> {
  if (SAFE_METHODS.has(c.req.method)) return;
  const isOwn = isSameOrigin(c, c.get('address').origin);
  if (isOwn && sameSecret(await sentToken(c), session.csrf)) return;
  throw new AccessRefusal(
    403,
    'SLIPWAY_CROSS_SITE_REQUEST',
    isOwn
      ? 'the form was older than your session, or was not one of this page'
      : 'the request came from another site',
    { hint: 'go back, load the page again, and press once more' },
  );
}

/** Whether the browser reports that the request came from this origin. A page's scripts can set neither header. */
function isSameOrigin(c: Context, origin: string): boolean {
  const site = c.req.header('sec-fetch-site');
  return site === undefined ? c.req.header('origin') === origin : site === 'same-origin';
}

async function sentToken(c: Context): Promise<string> {
  const header = c.req.header(CSRF_HEADER);
  if (header !== undefined) return header;
  const type = c.req.header('content-type') ?? '';
  if (!/^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/u.test(type)) return '';
  const token = (await c.req.parseBody())[CSRF_FIELD];
  return typeof token === 'string' ? token : '';
}
