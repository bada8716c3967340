import type { Context } from 'hono';
import type { JWK } from 'jose';

import { openArtifactStore } from '../../artifact/openArtifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { isRecord } from '../../domain/scalars.ts';
import { isRefusal, Issuer, type SignedIn, type SignInChecks, whyNot } from '../../identity/issuer.ts';
import { newSigningKey, personProof, putProof, verifiedEmail } from '../../identity/proof.ts';
import { AccessRefusal, failed } from './accessRefusal.ts';
import { type OidcSettings, roleOf } from './accessSettings.ts';
import { type Address, returnPath } from './address.ts';
import type { SealedCookies } from './sealedCookies.ts';
import { type KeepProof, newSession, type PageEnv, type Session } from './session.ts';

export const CALLBACK_PATH = '/sign-in/callback';

const COOKIE = 'sign-in';
const SIGN_IN_MS = 10 * 60_000;

export class OidcSignIn {
  readonly #settings: OidcSettings;
  readonly #cookies: SealedCookies;
  readonly #issuer: Issuer;

  constructor(settings: OidcSettings, cookies: SealedCookies) {
    this.#settings = settings;
    this.#cookies = cookies;
    this.#issuer = new Issuer(settings);
  }

  /**
   * Redirects the browser to the issuer.
   * @param to - the path on this page to open after the sign-in.
   * @throws AccessRefusal SLIPWAY_SIGN_IN_UNAVAILABLE (503).
   */
  async begin(c: Context<PageEnv>, to: string): Promise<Response> {
    const { privateKey, nonce } = await newSigningKey();
    const { url, checks } = await this.#ask(() =>
      this.#issuer.begin(`${c.get('address').origin}${CALLBACK_PATH}`, nonce),
    );
    const ends = Date.now() + SIGN_IN_MS;
    this.#cookies.write(c, COOKIE, { ...checks, privateKey, to, ends }, ends);
    return c.redirect(url.href);
  }

  /**
   * Verifies the issuer's answer, and stores the person's identity in the browser for later proofs.
   * @throws AccessRefusal SLIPWAY_SIGN_IN_FAILED (403), SLIPWAY_SIGN_IN_UNAVAILABLE (503).
   */
  async finish(c: Context<PageEnv>): Promise<{ readonly session: Session; readonly to: string }> {
    const kept = this.#cookies.read(c, COOKIE);
    if (kept === undefined || Number(kept['ends']) < Date.now()) {
      throw failed('this browser did not begin the sign-in, or began it more than 10 minutes ago');
    }
    const { pathname, search } = new URL(c.req.url);
    const answer = new URL(`${c.get('address').origin}${pathname}${search}`);
    // Several windows may sign in at once. The answer to an earlier sign-in does not end the newest one.
    if (answer.searchParams.get('state') !== kept['state'])
      throw failed('the answer has the state of another sign-in than the one that this browser began last');
    this.#cookies.remove(c, COOKIE);
    const signedIn = await this.#ask(() => this.#issuer.finish(answer, kept as unknown as SignInChecks));
    const session = this.#session(signedIn);
    keepIdentity(c, this.#cookies, session, {
      idToken: signedIn.idToken,
      privateKey: kept['privateKey'] as JWK,
    });
    return { session, to: returnPath(String(kept['to'])) };
  }

  /** The page that ends the session at the issuer; `undefined` if it has none, or does not answer. */
  async signOutUrl(address: Address): Promise<URL | undefined> {
    try {
      return await this.#issuer.signOutUrl(`${address.origin}/signed-out`);
    } catch {
      // They are signed out here already, which is what they asked for.
      return undefined;
    }
  }

  #session({ claims, expires }: SignedIn): Session {
    const role = roleOf(this.#settings.roles, claims);
    // Approvals compare the name, so it must be one that the person cannot change.
    const name = verifiedEmail(claims) ?? claims.sub;
    if (role === undefined) {
      throw failed(`the file of roles gives ${name} no role`, 'ask the person who runs this page for one');
    }
    return newSession({ name, proved: true, role }, expires);
  }

  async #ask<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      const { host } = this.#settings.issuer;
      if (isRefusal(error)) throw failed(`${host} did not confirm who you are: ${whyNot(error)}`);
      const what = `${host} could not be asked who you are: ${whyNot(error)}`;
      const hint = 'try again; the command does not need this page: slipway status';
      const options = { hint, signIn: '/sign-in', cause: error };
      throw new AccessRefusal(503, 'SLIPWAY_SIGN_IN_UNAVAILABLE', what, options);
    }
  }
}

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
function keepIdentity(
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
