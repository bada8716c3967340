import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether two secrets are equal. The time that it takes does not depend on how much of them is equal. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(digest(given), digest(expected));
}

/** Digests have equal lengths, which `timingSafeEqual` requires. */
function digest(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
