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
  const sent = isOwn ? await fieldsOf(c) : {};
  if (isOwn && sameSecret(c.req.header(CSRF_HEADER) ?? textOf(sent[CSRF_FIELD]), session.csrf)) return;
  const what = isOwn
    ? 'nothing was done: your session has ended or changed since this form was shown'
    : 'the request came from another site';
  const hint = 'open the form again, and send it once more';
  const written = textOf(sent['reason']);
  throw new AccessRefusal(403, 'SLIPWAY_CROSS_SITE_REQUEST', what, { hint, written });
}

/** Whether the browser reports that the request came from this origin. A page's scripts can set neither header. */
function isSameOrigin(c: Context, origin: string): boolean {
  const site = c.req.header('sec-fetch-site');
  return site === undefined ? c.req.header('origin') === origin : site === 'same-origin';
}

/** The fields of a form; none if the request has another body. */
async function fieldsOf(c: Context): Promise<Readonly<Record<string, unknown>>> {
  const type = c.req.header('content-type') ?? '';
  return /^(?:application\/x-www-form-urlencoded|multipart\/form-data)\b/u.test(type)
    ? c.req.parseBody()
    : {};
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
