import { createHmac } from 'node:crypto';
import { unescape } from 'node:querystring';

import type { Agent } from 'undici';

import { type CallOptions, Exchange } from '../exchange.ts';
import { ServiceError } from '../serviceError.ts';

export interface WebhookCall {
  readonly url: string;
  /** What errors show instead: `the webhook "ops"`. */
  readonly called: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** Further texts that no error may repeat. */
  readonly secrets?: readonly string[];
}

/** What errors show instead of the URL's path. */
const SHOWN_PATH = '/…';

/**
 * Posts JSON to a webhook, once. Redirects are not followed, because they would send the message elsewhere. Only the
 * status of the answer counts; its body is not read.
 * @returns the status, 2xx.
 */
export async function postWebhook(
  agent: Agent,
  { url: address, called, headers = {}, body, secrets = [] }: WebhookCall,
  call: CallOptions,
): Promise<number> {
  const url = parseAddress(address, called);
  const exchange = new Exchange(
    agent,
    {
      method: 'POST',
      url,
      shownOrigin: called,
      shownPath: SHOWN_PATH,
      headers,
      body,
      secrets: [...secrets, address, url.href, url.host, url.hostname, ...partsOf(url)],
    },
    call,
  );
  try {
    return (await exchange.open()).statusCode;
  } finally {
    exchange.close();
  }
}

/** Path and query, and the parts of them that are long enough to be tokens, as they are and decoded. */
function partsOf({ pathname, search, searchParams }: URL): readonly string[] {
  const written = `${pathname}${search}`.split(/[/?&=]/u);
  const parts = [...written, ...written.map((part) => unescape(part)), ...searchParams.values()];
  return [`${pathname}${search}`, ...parts.filter((part) => part.length >= TOKEN_LEAST_CHARACTERS)];
}

const TOKEN_LEAST_CHARACTERS = 6;

function parseAddress(address: string, called: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const right =
    url !== undefined && /^https?:$/u.test(url.protocol) && url.username === '' && url.password === '';
  if (right) return url;
  throw new ServiceError(
    'SLIPWAY_REFUSED',
    `${called} has no http or https URL without a user name or password in it`,
    { method: 'POST', path: SHOWN_PATH, mayHaveBeenTaken: false },
  );
}

/**
 * The value of `Slipway-Signature` for a body: `t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body", in hexadecimal>`.
 * The signature covers the time, so that a receiver can reject old messages and thus replays. Further signatures may
 * be added beside `v1` later.
 * @param atSeconds - when it is sent, in whole seconds since 1970.
 */
export function signature(body: string, secret: string, atSeconds: number): string {
  const digest = createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex');
  return `t=${atSeconds},v1=${digest}`;
}
