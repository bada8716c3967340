import { createHmac, timingSafeEqual } from 'node:crypto';

/** How old a signature may be, in seconds. */
const AGE_MAX = 300;

/**
 * Whether a body was signed with the secret, and lately.
 *
 * @param header - `Slipway-Signature`: `t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body">`.
 */
export function isFromSlipway(
  header: string | string[] | undefined,
  body: string,
  secret: string,
  now = Date.now() / 1_000,
): boolean {
  const [, time, digest] = /^t=(\d+),v1=([0-9a-f]{64})/.exec(String(header)) ?? [];
  if (time === undefined || digest === undefined || Math.abs(now - Number(time)) > AGE_MAX) return false;
  const own = createHmac('sha256', secret).update(`${time}.${body}`).digest();
  return timingSafeEqual(own, Buffer.from(digest, 'hex'));
}
