import type { Context } from 'hono';
import type { JWK } from 'jose';

import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { isRecord } from '../../domain/scalars.ts';
import { personProof, putProof } from '../../identity/proof.ts';
import type { SealedCookies } from './sealedCookies.ts';
import type { KeepProof, PageEnv, Session } from './session.ts';

/** Proves who signed in: their ID token, and the key that it is bound to. */
interface SignedInIdentity {
  readonly idToken: string;
  readonly privateKey: JWK;
}

export const IDENTITY_COOKIE = 'identity';
/** Browsers may drop a larger cookie, name and attributes included (RFC 6265, 6.1). In bytes. */
const COOKIE_MAX_BYTES = 4_096;
const ATTRIBUTES_MAX_BYTES = 200;

/** Stores the identity in a cookie of its own. If it is too large, approvals that require a proof are refused. */
export function keepIdentity(
  c: Context<PageEnv>,
  cookies: SealedCookies,
  { csrf, ends }: Session,
  identity: SignedInIdentity,
): void {
  const value = { ...identity, csrf };
  if (cookies.size(IDENTITY_COOKIE, value) > COOKIE_MAX_BYTES - ATTRIBUTES_MAX_BYTES) {
    cookies.remove(c, IDENTITY_COOKIE);
  } else {
    cookies.write(c, IDENTITY_COOKIE, value, ends);
  }
}

export function proverOf(c: Context<PageEnv>, cookies: SealedCookies, { csrf }: Session): KeepProof {
  return async (store, statement) => {
    const kept = cookies.read(c, IDENTITY_COOKIE);
    // The cookie belongs to another sign-in, and so perhaps to another person.
    if (kept?.['csrf'] !== csrf || typeof kept['idToken'] !== 'string' || !isRecord(kept['privateKey'])) {
      const what = 'this session has no ID token that proves who you are';
      const hint = 'sign out and in again, or approve with the command: slipway login, slipway approve';
      throw new SlipwayError('SLIPWAY_IDENTITY_UNPROVED', what, { hint });
    }
    return putProof(
      openArtifactStore(store),
      await personProof(kept['idToken'], kept['privateKey'], statement),
    );
  };
}
