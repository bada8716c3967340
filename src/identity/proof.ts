import { createHash, randomUUID } from 'node:crypto';

import { canonicalJson } from '@slipway/contract/canonicalJson';
import { CompactSign, importJWK, type JWK } from 'jose';

import type { Statement } from '../domain/identity/statement.ts';

/**
 * What proves who asked for something: a record of the artifact store, so that no message, and so no history, has a token.
 * The message names the record, the worker reads and removes it.
 */
export interface Proof {
  /** The issuer's ID token. */
  readonly token: string;
  /**
   * The statement, signed with the key that the ID token is bound to (its `nonce` is the key's thumbprint). Absent: the token's
   * audience is the statement's (GitHub), or the token is bound to nothing (GitLab).
   */
  readonly statement?: string;
  /** When it was made: ISO 8601. */
  readonly at: string;
}

/** Below this name, the records with proofs. No target's name begins so. */
export const IDENTITIES = '_identities/';

/** A name that nobody guesses. */
export function newProofName(): string {
  return `${IDENTITIES}${randomUUID()}`;
}

/** Whether a message may name a record as its proof: nothing else of the store is read, or removed, for one. */
export function isProofName(name: string): boolean {
  return /^_identities\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u.test(name);
}

/** The audience of a token that is good for one statement only. */
export function statementAudience(statement: Statement): string {
  return `slipway:${createHash('sha256').update(canonicalJson(statement)).digest('hex')}`;
}

/** The algorithm of the keys that `slipway login` makes. */
export const KEY_ALGORITHM = 'ES256';

/** Signs a statement with a key of `slipway login`. */
export async function signStatement(statement: Statement, privateKey: JWK): Promise<string> {
  const { kty, crv, x, y } = privateKey;
  return await new CompactSign(new TextEncoder().encode(statementAudience(statement)))
    .setProtectedHeader({ alg: KEY_ALGORITHM, jwk: { kty, crv, x, y } })
    .sign(await importJWK(privateKey, KEY_ALGORITHM));
}
