import { errorText } from '@slipway/contract/codedError';
import {
  calculateJwkThumbprint,
  compactVerify,
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  EmbeddedJWK,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
} from 'jose';

import { type Environment, httpsUrl, setting } from '../config/environment.ts';
import type { Actor, ProvedIdentity } from '../domain/actor.ts';
import { SlipwayError } from '../domain/errors.ts';
import { isRecord } from '../domain/scalars.ts';
import type { Statement } from '../domain/identity/statement.ts';
import { KEY_ALGORITHM, type Proof, statementAudience, verifiedEmail } from './proof.ts';

/** The result of a proof: the name to record, and the identity behind it. */
export type Proved = Required<Pick<Actor, 'who' | 'proved'>>;

type Keys = ReturnType<typeof createRemoteJWKSet>;

/** The audience of the tokens of GitLab's jobs. */
export const GITLAB_AUDIENCE = 'slipway';

const TIMEOUT_MS = 10_000;
const TOLERANCE_SECONDS = 30;
/** Asymmetric algorithms only: a symmetric key would also be known to the client. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

/** The codes of `jose` for keys that the issuer did not give. The generic one is for an answer that is not 200, or not JSON. */
const UNANSWERED = new Set(
  [errors.JWKSTimeout, errors.JWKSInvalid, errors.JOSEError].map(({ code }) => code),
);

/** Verifies proofs. Caches the issuers' keys, and fetches them again for an unknown key. */
export class Verifier {
  readonly #trusted: readonly Trusted[];
  readonly #keys = new Map<string, Promise<Keys>>();

  constructor(trusted: readonly Trusted[]) {
    this.#trusted = trusted;
  }

  /**
   * Verifies that a proof belongs to this statement.
   * @param at - when the statement arrived. The token must have been valid then.
   * @throws SLIPWAY_IDENTITY_UNPROVED; SLIPWAY_UNREACHABLE if the issuer does not answer.
   */
  async verify({ token, statement: signed }: Proof, statement: Statement, at: Date): Promise<Proved> {
    const trusted = this.#trustedIssuerOf(token, signed === undefined ? 'job' : 'person');
    const audience = audienceOf(trusted, statement);
    const payload = await this.#verifyToken(token, trusted.issuer, { audience, currentDate: at });
    if (trusted.kind === 'person') {
      const { azp } = payload;
      if (azp !== undefined && !trusted.clientIds.some((clientId) => clientId === azp)) {
        throw unproved('the token was issued to another client');
      }
      await verifyStatement(signed, statement, payload['nonce']);
      return personOf(payload);
    }
    return jobOf(payload, trusted);
  }

  /** @param of - whose proof it looks like. GitLab may be the issuer of jobs and of people. */
  #trustedIssuerOf(token: string, of: 'job' | 'person'): Trusted {
    let iss: string | undefined;
    try {
      ({ iss } = decodeJwt(token));
    } catch {
      throw unproved('the token is not an ID token');
    }
    const ofIssuer = this.#trusted.filter(({ issuer }) => issuer === iss);
    const trusted = ofIssuer.find(({ kind }) => (kind === 'person') === (of === 'person')) ?? ofIssuer[0];
    if (trusted !== undefined) return trusted;
    const known = this.#trusted.map(({ issuer }) => issuer).join(', ');
    throw unproved(
      known === '' ? 'the worker trusts no issuer' : `the worker trusts another issuer: ${known}`,
      'set the SLIPWAY_OIDC_ variables of the worker (docs/sign-in.md)',
    );
  }

  async #verifyToken(token: string, issuer: string, options: JWTVerifyOptions): Promise<JWTPayload> {
    const keys = await this.#keysOf(issuer);
    try {
      const { payload } = await jwtVerify(token, keys, {
        ...options,
        issuer,
        algorithms: ALGORITHMS,
        clockTolerance: TOLERANCE_SECONDS,
        requiredClaims: ['exp', 'iat', 'sub'],
      });
      return payload;
    } catch (error) {
      if (error instanceof errors.JWTExpired) throw unproved('the token has expired');
      if (error instanceof errors.JWTClaimValidationFailed) {
        throw unproved(`the token's "${error.claim}" is invalid`);
      }
      if (!(error instanceof errors.JOSEError) || UNANSWERED.has(error.code))
        throw unreachable(issuer, error);
      throw unproved(`the token is not one of ${issuer}`);
    }
  }

  async #keysOf(issuer: string): Promise<Keys> {
    const known = this.#keys.get(issuer) ?? discover(issuer);
    this.#keys.set(issuer, known);
    try {
      return await known;
    } catch (error) {
      this.#keys.delete(issuer);
      throw error;
    }
  }
}

/** Finds the address of an issuer's keys (OpenID Connect Discovery, 4). */
async function discover(issuer: string): Promise<Keys> {
  const url = `${issuer.replace(/\/$/u, '')}/.well-known/openid-configuration`;
  let metadata: unknown;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: 'error' });
    metadata = response.ok ? await response.json() : undefined;
  } catch (error) {
    throw unreachable(issuer, error);
  }
  const { issuer: named, jwks_uri: keys } = isRecord(metadata) ? metadata : {};
  if (named !== issuer || typeof keys !== 'string' || !URL.canParse(keys)) {
    throw unreachable(issuer, new Error('its OpenID configuration is missing, or of another issuer'));
  }
  // By default, an unknown key is refused if the keys were read in the last 30 s, also one that was added since.
  return createRemoteJWKSet(new URL(keys), { timeoutDuration: TIMEOUT_MS, cooldownDuration: 0 });
}

function audienceOf(trusted: Trusted, statement: Statement): string | string[] {
  switch (trusted.kind) {
    case 'person':
      return [...trusted.clientIds];
    case 'github':
      return statementAudience(statement);
    case 'gitlab':
      return GITLAB_AUDIENCE;
  }
}

/**
 * Verifies that the token's own key signed the statement, so a token that was read from the store is useless alone.
 */
async function verifyStatement(
  signed: string | undefined,
  statement: Statement,
  nonce: unknown,
): Promise<void> {
  if (signed === undefined) throw unproved('the token came without a signed statement');
  try {
    const { payload } = await compactVerify(signed, EmbeddedJWK, { algorithms: [KEY_ALGORITHM] });
    const { jwk } = decodeProtectedHeader(signed);
    if (jwk === undefined || (await calculateJwkThumbprint(jwk)) !== nonce) {
      throw unproved('the token is bound to another key');
    }
    if (new TextDecoder().decode(payload) === statementAudience(statement)) return;
  } catch (error) {
    if (error instanceof SlipwayError) throw error;
    throw unproved('the statement is not signed as it must be');
  }
  throw unproved('the proof is one of something else');
}

/** The identity that approvals compare: a person cannot change it. */
function personOf(payload: JWTPayload): Proved {
  const { iss: issuer = '', sub: subject = '' } = payload;
  const email = verifiedEmail(payload);
  return { who: email ?? subject, proved: { issuer, subject, email } };
}

/**
 * A job proves only its repository. A person who can change its workflows can run it under any name.
 * @throws SLIPWAY_IDENTITY_UNPROVED if the repository is not trusted.
 */
function jobOf(payload: JWTPayload, trusted: Extract<Trusted, { kind: 'github' | 'gitlab' }>): Proved {
  const { iss: issuer = '', sub: who = '' } = payload;
  const [repository, id] =
    trusted.kind === 'github'
      ? [payload['repository'], payload['repository_id']]
      : [payload['project_path'], payload['project_id']];
  if (typeof repository !== 'string' || !trusted.repositories.includes(repository)) {
    throw unproved(`the worker does not trust the jobs of ${String(repository)}`);
  }
  const proved: ProvedIdentity = {
    issuer,
    subject: typeof id === 'string' || typeof id === 'number' ? String(id) : repository,
    job: true,
  };
  return { who, proved };
}

export function unproved(
  message: string,
  hint = 'sign in with "slipway login", then repeat the command',
): SlipwayError {
  return new SlipwayError('SLIPWAY_IDENTITY_UNPROVED', `the identity is not proved: ${message}`, { hint });
}

function unreachable(issuer: string, error: unknown): SlipwayError {
  const why = errorText(error);
  return new SlipwayError('SLIPWAY_UNREACHABLE', `${issuer} could not be asked for its keys: ${why}`, {
    cause: error,
  });
}

/** An issuer that the worker trusts, and which of its tokens. */
type Trusted =
  /** People who sign in with `slipway login` or on the page. `clientIds`: the accepted audiences. */
  | { readonly kind: 'person'; readonly issuer: string; readonly clientIds: readonly string[] }
  /** CI jobs of only these repositories. At a public issuer, any repository can get a token for any audience. */
  | { readonly kind: 'github' | 'gitlab'; readonly issuer: string; readonly repositories: readonly string[] };

const GITHUB = 'https://token.actions.githubusercontent.com';
const GITLAB = 'https://gitlab.com';

/**
 * Reads the trusted issuers from the worker's own environment. Requests cannot change them.
 * @throws SLIPWAY_USAGE for an invalid variable.
 */
export function readTrust(environment: Environment): readonly Trusted[] {
  const trusted: Trusted[] = [];
  const issuer = setting(environment, 'SLIPWAY_OIDC_ISSUER');
  const own = setting(environment, 'SLIPWAY_OIDC_CLIENT_ID');
  const others = words(environment, 'SLIPWAY_OIDC_TRUSTED_CLIENT_IDS');
  const clientIds = [...(own === undefined ? [] : [own]), ...others];
  if (issuer !== undefined && clientIds.length > 0) {
    trusted.push({ kind: 'person', issuer: address('SLIPWAY_OIDC_ISSUER', issuer), clientIds });
  }
  const github = list(environment, 'SLIPWAY_OIDC_GITHUB_REPOSITORIES');
  if (github.length > 0) trusted.push({ kind: 'github', issuer: GITHUB, repositories: github });
  const gitlab = list(environment, 'SLIPWAY_OIDC_GITLAB_PROJECTS');
  if (gitlab.length > 0) {
    const of = setting(environment, 'SLIPWAY_OIDC_GITLAB_ISSUER') ?? GITLAB;
    trusted.push({ kind: 'gitlab', issuer: address('SLIPWAY_OIDC_GITLAB_ISSUER', of), repositories: gitlab });
  }
  return trusted;
}

/** An issuer, exactly as written: tokens contain it in this form. */
function address(name: string, text: string): string {
  httpsUrl(name, text);
  return text;
}

function list(environment: Environment, name: string): readonly string[] {
  const items = words(environment, name);
  const wrong = items.find((item) => !/^[\w.-]+(?:\/[\w.-]+)+$/u.test(item));
  if (wrong === undefined) return items;
  throw new SlipwayError('SLIPWAY_USAGE', `${name}: "${wrong}" is not owner/name`, { place: name });
}

function words(environment: Environment, name: string): readonly string[] {
  return (setting(environment, name) ?? '').split(/[\s,]+/u).filter((item) => item !== '');
}
