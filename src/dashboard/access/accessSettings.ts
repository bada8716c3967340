import { createClientAddress } from '@slipway/contract/clientAddress';

import {
  type Environment,
  isLoopback,
  readDashboardUrl,
  setting,
  userName,
} from '../../config/environment.ts';
import { keySetting } from '../../config/secretReference.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { type IssuerClient, readIssuerClient } from '../../identity/issuerClient.ts';
import { readRoleFile, type RoleSource } from './roles.ts';

export interface OidcSettings extends IssuerClient {
  readonly way: 'oidc';
  readonly roles: RoleSource;
}

export type SignIn =
  /** There is no sign-in: every viewer is the user who started the page. */
  | { readonly way: 'none'; readonly user: string }
  /** All people share one key, and enter their name. */
  | { readonly way: 'key'; readonly key: string }
  | OidcSettings;

export interface AccessSettings {
  readonly signIn: SignIn;
  /** Absent: only loopback addresses open the page. */
  readonly publicUrl?: URL;
  /** The secret that seals sessions. Absent: a secret of this process only, so a restart ends all sessions. */
  readonly sessionSecret?: string;
  /** Addresses and networks of proxies whose `X-Forwarded-For` names the client. Default: none. */
  readonly trustedProxies?: readonly string[];
}

/**
 * Reads from the environment who may open the page: people who sign in with OIDC, people with a key, or, on a loopback
 * address only, everyone.
 * @throws SLIPWAY_DASHBOARD_OPEN if everyone on the network could use the page; SLIPWAY_USAGE, SLIPWAY_SECRET_MISSING
 *   and SLIPWAY_CONFIG_INVALID for invalid settings.
 */
export async function readAccessSettings(environment: Environment, host: string): Promise<AccessSettings> {
  const publicUrl = readDashboardUrl(environment);
  const sessionSecret = keySetting(environment, 'SLIPWAY_DASHBOARD_SECRET');
  const signIn = await readSignIn(environment);
  if (signIn.way === 'none' && !(isLoopback(host) && isLoopback(publicUrl?.hostname ?? 'localhost'))) {
    const what = `the page would let everybody who reaches ${publicUrl?.origin ?? host} control releases`;
    const hint =
      'set a key, SLIPWAY_DASHBOARD_KEY="$(openssl rand -hex 24)", or SLIPWAY_OIDC_ISSUER, or listen on this machine only: slipway dashboard --host 127.0.0.1';
    throw new SlipwayError('SLIPWAY_DASHBOARD_OPEN', what, { hint });
  }
  return { signIn, publicUrl, sessionSecret, trustedProxies: readTrustedProxies(environment) };
}

function readTrustedProxies(environment: Environment): readonly string[] {
  const networks = (setting(environment, 'SLIPWAY_TRUSTED_PROXIES') ?? '')
    .split(',')
    .map((entry) => entry.trim());
  const named = networks.filter((entry) => entry !== '');
  try {
    createClientAddress(named);
  } catch (error) {
    throw unusable(
      `SLIPWAY_TRUSTED_PROXIES: ${(error as RangeError).message}`,
      'list addresses or networks such as 10.0.0.0/8, with commas between them',
    );
  }
  return named;
}

async function readSignIn(environment: Environment): Promise<SignIn> {
  const key = keySetting(environment, 'SLIPWAY_DASHBOARD_KEY');
  const issuer = setting(environment, 'SLIPWAY_OIDC_ISSUER');
  if (issuer === undefined)
    return key === undefined ? { way: 'none', user: userName() } : { way: 'key', key };
  if (key !== undefined) {
    throw unusable('SLIPWAY_DASHBOARD_KEY and SLIPWAY_OIDC_ISSUER are both set', 'unset one of them');
  }
  const client = readIssuerClient(environment);
  if (client === undefined) {
    throw unusable('SLIPWAY_OIDC_CLIENT_ID is not set', 'set it to Slipway’s client id at the issuer');
  }
  const roleFile = setting(environment, 'SLIPWAY_DASHBOARD_ROLES');
  const file = roleFile === undefined ? undefined : await readRoleFile(roleFile);
  const ownClaim = file === undefined ? 'roles' : 'groups';
  const claim = setting(environment, 'SLIPWAY_OIDC_ROLE_CLAIM') ?? ownClaim;
  return { way: 'oidc', ...client, roles: { claim, file } };
}

function unusable(message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_USAGE', message, { hint });
}
