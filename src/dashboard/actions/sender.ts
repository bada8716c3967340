import type { Viewer } from '../access/viewer.ts';
import { FROM } from './offers.ts';

/** The sender of a message, as records show it. Marks a name that no issuer proved as claimed. */
export function senderOf({ name, proved }: Viewer, reason: string) {
  return { who: name, from: proved ? `${FROM}, signed in with OIDC` : FROM, reason };
}
