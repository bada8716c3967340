import { createHmac } from 'node:crypto';

/**
 * The value of `Slipway-Signature` for a body: `t=<seconds since 1970>,v1=<HMAC-SHA256 of "t.body", in hexadecimal>`. The
 * time is signed too, so that whoever checks it can refuse what is old, and so what is sent once more by somebody else.
 * Further signatures may stand beside `v1` one day.
 *
 * @param atSeconds - when it is sent, in whole seconds since 1970.
 */
export function signature(body: string, secret: string, atSeconds: number): string {
  const digest = createHmac('sha256', secret).update(`${atSeconds}.${body}`).digest('hex');
  return `t=${atSeconds},v1=${digest}`;
}
