import { type Environment, setting } from '../config/environment.ts';
import { httpsUrl } from '../config/httpsUrl.ts';
import { SlipwayError } from '../domain/errors.ts';

/** An issuer that the worker trusts, and which of its tokens. */
export type Trusted =
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
    trusted.push({
      kind: 'gitlab',
      issuer: address('SLIPWAY_OIDC_GITLAB_ISSUER', of),
      repositories: gitlab,
    });
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
