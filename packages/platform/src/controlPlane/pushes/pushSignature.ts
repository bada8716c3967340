import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Whether a body was signed with a secret: `sha256=` and the HMAC-SHA256 in hexadecimal digits, as GitHub sends it in
 * `X-Hub-Signature-256`. The comparison takes the same time however much of it is right.
 */
export function isSigned(body: Uint8Array, secret: string, signature: string): boolean {
  const given = /^sha256=(?<digits>[0-9a-f]{64})$/i.exec(signature)?.groups?.['digits'];
  if (given === undefined) return false;
  return timingSafeEqual(Buffer.from(given, 'hex'), createHmac('sha256', secret).update(body).digest());
}
