import type { Viewer } from '../access/viewer.ts';
import { FROM } from './offers.ts';

/**
 * Who sends a message, in the words of records. A name that no issuer proved is only claimed, and the record says so.
 */
export function senderOf({ name, proved }: Viewer, reason: string) {
  return { who: name, from: proved ? `${FROM}, signed in with OIDC` : FROM, reason };
}
