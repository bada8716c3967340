import { createHmac } from 'node:crypto';

import { sameSecret } from '@slipway/contract/sameSecret';
import { HookRefusal } from '../hookRefusal.ts';
import type { Received } from './form.ts';

/** Largest difference between sender's and listener's clocks, in milliseconds. Older signatures are rejected. */
const SKEW_MAX_MS = 300_000;

/** The HMAC-SHA256 of texts and bytes, in hexadecimal. */
export function hmac(secret: string, ...parts: readonly (string | Uint8Array)[]): string {
  const made = createHmac('sha256', secret);
  for (const part of parts) made.update(part);
  return made.digest('hex');
}

/** Rejects a request without the secret as bearer token or as password of basic authentication. */
export function requireAuthorization({ header }: Received, secret: string): void {
  const given = header('authorization');
  if (given === undefined) throw forged('the request has no header Authorization');
  const [, scheme = '', credentials = ''] = /^(\S+) +(.*)$/su.exec(given) ?? [];
  const password = scheme.toLowerCase() === 'basic' ? passwordIn(credentials) : credentials;
  if (!sameSecret(password, secret)) throw forged('the token or password is not the hook’s');
}

function passwordIn(credentials: string): string {
  const text = Buffer.from(credentials, 'base64').toString();
  return text.slice(text.indexOf(':') + 1);
}

/**
 * Rejects a time too far in the past or future.
 * @param seconds - since 1970, as the header has it.
 * @throws HookRefusal SLIPWAY_HOOK_STALE (401).
 */
export function requireRecent(seconds: string, now: number): void {
  const differenceMs = Math.abs(now - Number(seconds) * 1_000);
  if (/^\d{1,12}$/u.test(seconds) && differenceMs <= SKEW_MAX_MS) return;
  const message = 'the signature was made too long ago, or by a clock that is wrong';
  throw new HookRefusal(401, 'SLIPWAY_HOOK_STALE', message, {
    hint: `the clocks may differ by ${SKEW_MAX_MS / 60_000} minutes`,
  });
}

/** The error for a request that the product did not send. */
export function forged(message: string): HookRefusal {
  return new HookRefusal(401, 'SLIPWAY_HOOK_FORGED', message, {
    hint: 'give the sender the secret that the hook names in slipway.yaml',
  });
}
