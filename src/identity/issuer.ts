import { errorText } from '@slipway/contract/codedError';
import * as oidc from 'openid-client';

import type { IssuerClient } from './issuerClient.ts';
import type { Claims } from './proof.ts';

/** The timeout for the issuer's answers, in seconds. */
const TIMEOUT_SECONDS = 10;

/** What a browser keeps during a sign-in. Only the browser that began a sign-in can finish it. */
export interface SignInChecks {
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
}

/** The person who signed in, according to the issuer. */
export interface SignedIn {
  readonly claims: Claims & { readonly sub: string };
  /** When the ID token expires, in milliseconds since 1970. */
  readonly expires: number;
  readonly idToken: string;
}

/** An OIDC issuer: authorization code flow with PKCE, state and nonce; ID tokens with checked signatures. */
export class Issuer {
  readonly #settings: IssuerClient;

  /** Sends no request to the issuer yet: the page must start even if the issuer is down. */
  constructor(settings: IssuerClient) {
    this.#settings = settings;
  }

  /**
   * Begins a sign-in. Returns the address for the browser, and what the browser has to keep.
   * @param nonce - what the ID token is bound to.
   * @throws openid-client's errors.
   */
  async begin(
    redirectUri: string,
    nonce: string,
  ): Promise<{ readonly url: URL; readonly checks: SignInChecks }> {
    const configuration = await this.#discover();
    const checks = { state: oidc.randomState(), nonce, codeVerifier: oidc.randomPKCECodeVerifier() };
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: redirectUri,
      scope: this.#settings.scope,
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(checks.codeVerifier),
      code_challenge_method: 'S256',
    });
    return { url, checks };
  }

  /**
   * Finishes a sign-in.
   * @param answer - the address of the issuer's redirect.
   * @throws openid-client's errors.
   */
  async finish(answer: URL, { state, nonce, codeVerifier }: SignInChecks): Promise<SignedIn> {
    const configuration = await this.#discover();
    const tokens = await oidc.authorizationCodeGrant(configuration, answer, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    });
    const proved = tokens.claims();
    if (proved === undefined || tokens.id_token === undefined)
      throw new Error('The issuer sent no ID token.');
    // Many issuers return e-mail addresses and groups only from the UserInfo endpoint.
    const further =
      configuration.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await oidc.fetchUserInfo(configuration, tokens.access_token, proved.sub);
    return { claims: { ...further, ...proved }, expires: proved.exp * 1_000, idToken: tokens.id_token };
  }

  /** The page that ends the session at the issuer; `undefined` if the issuer has none. */
  async signOutUrl(returnTo: string): Promise<URL | undefined> {
    const configuration = await this.#discover();
    if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
    return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: returnTo });
  }

  /**
   * Asks the issuer anew each time, because openid-client keeps a configuration's keys: within a minute after it read
   * them, it refuses a key that the issuer has added since.
   */
  #discover(): Promise<oidc.Configuration> {
    const { issuer, clientId, clientSecret } = this.#settings;
    // Settings allow http only for this machine. The library marks the function as deprecated as a warning.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    const insecure = issuer.protocol === 'http:' ? [oidc.allowInsecureRequests] : [];
    return oidc.discovery(issuer, clientId, undefined, authentication(clientSecret), {
      execute: [oidc.enableNonRepudiationChecks, ...insecure],
      timeout: TIMEOUT_SECONDS,
    });
  }
}

/** HTTP Basic, which every issuer must accept (RFC 6749, 2.3.1), unless this one takes only the body. */
function authentication(clientSecret: string | undefined): oidc.ClientAuth {
  if (clientSecret === undefined) return oidc.None();
  const [basic, post] = [oidc.ClientSecretBasic(clientSecret), oidc.ClientSecretPost(clientSecret)];
  return (server, ...request) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    (methods.includes('client_secret_basic') ? basic : post)(server, ...request);
  };
}

/** Whether the issuer's answer was invalid. `false`: there was no answer. */
export function isRefusal(error: unknown): boolean {
  return (
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.ResponseBodyError ||
    (error instanceof oidc.ClientError && INVALID.has(error.code ?? ''))
  );
}

/** The codes of openid-client for invalid answers. */
const INVALID: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_USERINFO_EXPECTED',
]);

/** A short reason. It contains the issuer's standard error code, and no other text of the issuer. */
export function whyNot(error: unknown): string {
  if (error instanceof oidc.AuthorizationResponseError || error instanceof oidc.ResponseBodyError) {
    return error.error;
  }
  // Node's "fetch failed" says why only in its cause.
  if (error instanceof Error && error.cause instanceof Error) return whyNot(error.cause);
  return errorText(error);
}
