import { createHmac } from 'node:crypto';

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
