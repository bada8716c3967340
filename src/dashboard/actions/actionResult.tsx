import { createHmac } from 'node:crypto';

import { sameSecret } from '@slipway/contract/sameSecret';
import type { Context } from 'hono';

import type { PageEnv } from '../access/session.ts';

/** Longer texts do not fit into an address. */
const TEXT_MAX_CHARACTERS = 1_000;

/** The address of a page that shows the result, sealed for the session: a link cannot make it show other text. */
export function actionResultAddress(c: Context<PageEnv>, path: string, text: string): string {
  const said = text.slice(0, TEXT_MAX_CHARACTERS);
  return `${path}?${new URLSearchParams({ said, seal: sealOf(c, path, said) }).toString()}`;
}

export function ActionResult({ c }: { readonly c: Context<PageEnv> }) {
  const { said = '', seal = '' } = c.req.query();
  const path = new URL(c.req.url).pathname;
  if (said === '' || !sameSecret(seal, sealOf(c, path, said))) return null;
  return (
    <section class="notice done" role="status" aria-label="Result of the action">
      <p>{said}</p>
    </section>
  );
}

function sealOf(c: Context<PageEnv>, path: string, said: string): string {
  return createHmac('sha256', c.get('session').csrf).update(`${path}\n${said}`).digest('base64url');
}
