import { createHash, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { canonicalJson } from '@slipway/contract/json';
import { errorText } from '@slipway/contract/codedError';
import { calculateJwkThumbprint, CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';

import type { Prove, Statement } from '../domain/identity/statement.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';

/**
 * Proves who asked for something. It is a record of the artifact store, so messages and histories contain no token.
 * The message names the record; the worker reads and removes it.
 */
export interface Proof {
  readonly token: string;
  /**
   * The statement, signed with the key that the ID token is bound to (its `nonce` is the key's thumbprint). Absent:
   * the token's audience identifies the statement (GitHub), or the token is bound to nothing (GitLab).
   */
  readonly statement?: string;
  /** When it was made: ISO 8601. */
  readonly at: string;
}

/** The prefix of the records with proofs. A target's name cannot begin with it. */
export const IDENTITIES = '_identities/';

/** Stores a proof in the artifact store. @returns the record's name, which the message carries. */
export async function putProof(
  store: { putRecord(name: string, record: unknown): Promise<void> },
  proof: Omit<Proof, 'at'>,
): Promise<string> {
  const name = newProofName();
  await store.putRecord(name, { ...proof, at: new Date().toISOString() } satisfies Proof);
  return name;
}

/** Actions that are refused without a proof. All others proceed with a claimed name. */
const REFUSED_UNPROVED: ReadonlySet<Statement['action']> = new Set(['release', 'promote', 'approve']);
/** How long the other actions wait for their proof, in milliseconds. */
const IN_TIME_MS = 2_000;

/**
 * Makes the proofs of identity for messages to a target, a release or a promotion; `undefined`: its approval requires
 * no proof.
 * @param keep - stores the proof of a statement in the artifact store.
 * @param onClaimed - called with the reason if a message is sent without a proof.
 */
export function proverFor(
  approval: Pick<ApprovalPolicy, 'identity'> | undefined,
  keep: (statement: Statement) => Promise<string>,
  onClaimed: (why: string) => void,
): Prove | undefined {
  if (approval?.identity === undefined) return undefined;
  return async (statement) => {
    if (REFUSED_UNPROVED.has(statement.action)) return keep(statement);
    const ended = new AbortController();
    const late = setTimeout(IN_TIME_MS, undefined, { signal: ended.signal }).then(() => {
      throw new Error(`no proof was made within ${IN_TIME_MS / 1_000} s`);
    });
    try {
      return await Promise.race([keep(statement), late]);
    } catch (error) {
      onClaimed(errorText(error));
      return undefined;
    } finally {
      ended.abort();
    }
  };
}

/** A name that cannot be guessed. */
export function newProofName(): string {
  return `${IDENTITIES}${randomUUID()}`;
}

/** Whether a message may name a record as its proof. The worker reads or removes no other records for a proof. */
export function isProofName(name: string): boolean {
  return /^_identities\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u.test(name);
}

/** The audience of a token that is valid for one statement only. */
export function statementAudience(statement: Statement): string {
  return `slipway:${createHash('sha256').update(canonicalJson(statement)).digest('hex')}`;
}

/** The algorithm of the keys that people's ID tokens are bound to. */
export const KEY_ALGORITHM = 'ES256';

/** Makes a key for an ID token. `nonce` is its thumbprint; the sign-in asks the issuer to put it into the token. */
export async function newSigningKey(): Promise<{ readonly privateKey: JWK; readonly nonce: string }> {
  const { publicKey, privateKey } = await generateKeyPair(KEY_ALGORITHM, { extractable: true });
  const nonce = await calculateJwkThumbprint(await exportJWK(publicKey));
  return { privateKey: { ...(await exportJWK(privateKey)) }, nonce };
}

export function isSigningKey(key: JWK): Promise<boolean> {
  return importJWK(key, KEY_ALGORITHM).then(
    (imported) => 'type' in imported && imported.type === 'private',
    () => false,
  );
}

export async function personProof(
  token: string,
  privateKey: JWK,
  statement: Statement,
): Promise<Omit<Proof, 'at'>> {
  return { token, statement: await signStatement(statement, privateKey) };
}

export async function signStatement(statement: Statement, privateKey: JWK): Promise<string> {
  const { kty, crv, x, y } = privateKey;
  return await new CompactSign(new TextEncoder().encode(statementAudience(statement)))
    .setProtectedHeader({ alg: KEY_ALGORITHM, jwk: { kty, crv, x, y } })
    .sign(await importJWK(privateKey, KEY_ALGORITHM));
}

export type Claims = Readonly<Record<string, unknown>>;

/** A person's e-mail address, if the issuer has verified it. Unverified addresses can be chosen freely. */
export function verifiedEmail(claims: Claims): string | undefined {
  const { email, email_verified: isVerified } = claims;
  return typeof email === 'string' && email !== '' && isVerified === true ? email : undefined;
}
