import { createHash, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { canonicalJson } from '@slipway/contract/canonicalJson';
import { calculateJwkThumbprint, CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';

import type { Prove, Statement } from '../domain/identity/statement.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';

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

/** Puts a proof into the artifact store. @returns the record's name, which the message carries. */
export async function putProof(
  store: { putRecord(name: string, record: unknown): Promise<void> },
  proof: Omit<Proof, 'at'>,
): Promise<string> {
  const name = newProofName();
  await store.putRecord(name, { ...proof, at: new Date().toISOString() } satisfies Proof);
  return name;
}

/** What is refused without a proof. Everything else is said under a claimed name then. */
const REFUSED_UNPROVED: ReadonlySet<Statement['action']> = new Set(['release', 'promote', 'approve']);
/** How long everything else waits for its proof to be made, in milliseconds. */
const IN_TIME_MS = 2_000;

/**
 * What proves who says something to a target, a release or a promotion; `undefined`: its approval asks for no proof.
 *
 * @param keep - puts the proof of a statement into the artifact store.
 * @param onClaimed - called with why there is no proof of what goes on without one.
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
      onClaimed(error instanceof Error ? error.message : String(error));
      return undefined;
    } finally {
      ended.abort();
    }
  };
}

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

/** The algorithm of the keys that people's ID tokens are bound to. */
export const KEY_ALGORITHM = 'ES256';

/** A key that an ID token is bound to: `nonce`, its thumbprint, is what a sign-in asks the token to carry. */
export async function newSigningKey(): Promise<{ readonly privateKey: JWK; readonly nonce: string }> {
  const { publicKey, privateKey } = await generateKeyPair(KEY_ALGORITHM, { extractable: true });
  const nonce = await calculateJwkThumbprint(await exportJWK(publicKey));
  return { privateKey: { ...(await exportJWK(privateKey)) }, nonce };
}

/** The proof of a person, by their ID token and the key that it is bound to. */
export async function personProof(
  token: string,
  privateKey: JWK,
  statement: Statement,
): Promise<Omit<Proof, 'at'>> {
  return { token, statement: await signStatement(statement, privateKey) };
}

/** Signs a statement with the key of a sign-in. */
export async function signStatement(statement: Statement, privateKey: JWK): Promise<string> {
  const { kty, crv, x, y } = privateKey;
  return await new CompactSign(new TextEncoder().encode(statementAudience(statement)))
    .setProtectedHeader({ alg: KEY_ALGORITHM, jwk: { kty, crv, x, y } })
    .sign(await importJWK(privateKey, KEY_ALGORITHM));
}
