import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether two secrets are the same, in a time that does not depend on how much of them is. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

/** Digests have one length, which is what `timingSafeEqual` asks for. */
function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
