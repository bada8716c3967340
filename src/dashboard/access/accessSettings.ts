import { userInfo } from 'node:os';

import { createClientAddress } from '@slipway/contract/clientAddress';
import { SECRET_REFERENCE } from '@slipway/contract/secretReference';

import { readDashboardUrl } from '../../config/dashboardUrl.ts';
import { httpsUrl, isLoopback } from '../../config/httpsUrl.ts';
import { resolveSecret } from '../../config/secretReference.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { IssuerClient } from '../../identity/issuer.ts';
import { readRoleFile, type RoleSource } from './roles.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The settings for signing in with an OIDC issuer. */
export interface OidcSettings extends IssuerClient {
  readonly way: 'oidc';
  readonly roles: RoleSource;
}

/** How people prove who they are. */
export type SignIn =
  /** There is no sign-in: every viewer is the user who started the page. */
  | { readonly way: 'none'; readonly user: string }
  /** All people share one key, and enter their name. */
  | { readonly way: 'key'; readonly key: string }
  | OidcSettings;

/** Who may open the page, and under which address. */
export interface AccessSettings {
  readonly signIn: SignIn;
  /** Absent: only loopback addresses open the page. */
  readonly publicUrl?: URL;
  /** The secret that seals sessions. Absent: a secret of this process only, so a restart ends all sessions. */
  readonly sessionSecret?: string;
  /** Addresses and networks of proxies whose `X-Forwarded-For` names the client. Default: none. */
  readonly trustedProxies?: readonly string[];
}

/** The fewest characters of a key or a secret. Shorter ones could be guessed. */
const SHORTEST_SECRET = 16;

/**
 * Reads from the environment who may open the page: people who sign in with OIDC, people with a key, or, on a loopback
 * address only, everyone.
 * @param host - the host on which the page listens.
 * @throws SLIPWAY_DASHBOARD_OPEN if everyone on the network could use the page; SLIPWAY_USAGE, SLIPWAY_SECRET_MISSING
 *   and SLIPWAY_CONFIG_INVALID for invalid settings.
 */
export async function readAccessSettings(environment: Environment, host: string): Promise<AccessSettings> {
  const publicUrl = readDashboardUrl(environment);
  const sessionSecret = readSecret(environment, 'SLIPWAY_DASHBOARD_SECRET');
  const signIn = await readSignIn(environment);
  if (signIn.way === 'none' && !(isLoopback(host) && isLoopback(publicUrl?.hostname ?? 'localhost'))) {
    throw new SlipwayError(
      'SLIPWAY_DASHBOARD_OPEN',
      `the page would let everybody who reaches ${publicUrl?.origin ?? host} control releases`,
      {
        hint: 'set a key, SLIPWAY_DASHBOARD_KEY="$(openssl rand -hex 24)", or SLIPWAY_OIDC_ISSUER, or listen on this machine only: slipway dashboard --host 127.0.0.1',
      },
    );
  }
  return { signIn, publicUrl, sessionSecret, trustedProxies: readTrustedProxies(environment) };
}

function readTrustedProxies(environment: Environment): readonly string[] {
  const networks = (read(environment, 'SLIPWAY_TRUSTED_PROXIES') ?? '')
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
  const key = readSecret(environment, 'SLIPWAY_DASHBOARD_KEY');
  const issuer = read(environment, 'SLIPWAY_OIDC_ISSUER');
  if (key !== undefined && issuer !== undefined) {
    throw unusable('SLIPWAY_DASHBOARD_KEY and SLIPWAY_OIDC_ISSUER are both set', 'unset one of them');
  }
  if (issuer !== undefined) return await readOidc(environment, issuer);
  return key === undefined ? { way: 'none', user: userName() } : { way: 'key', key };
}

async function readOidc(environment: Environment, issuer: string): Promise<OidcSettings> {
  const clientId = read(environment, 'SLIPWAY_OIDC_CLIENT_ID');
  if (clientId === undefined) {
    throw unusable('SLIPWAY_OIDC_CLIENT_ID is not set', 'set it to Slipway’s client id at the issuer');
  }
  const roleFile = read(environment, 'SLIPWAY_DASHBOARD_ROLES');
  const file = roleFile === undefined ? undefined : await readRoleFile(roleFile);
  return {
    way: 'oidc',
    issuer: httpsUrl('SLIPWAY_OIDC_ISSUER', issuer),
    clientId,
    clientSecret: secretBehind(read(environment, 'SLIPWAY_OIDC_CLIENT_SECRET'), environment),
    scope: read(environment, 'SLIPWAY_OIDC_SCOPE') ?? 'openid email profile',
    roles: {
      claim: read(environment, 'SLIPWAY_OIDC_ROLE_CLAIM') ?? (file === undefined ? 'roles' : 'groups'),
      file,
    },
  };
}

function readSecret(environment: Environment, name: string): string | undefined {
  const secret = secretBehind(read(environment, name), environment);
  if (secret === undefined || secret.length >= SHORTEST_SECRET) return secret;
  throw unusable(
    `${name} is shorter than ${SHORTEST_SECRET} characters`,
    `make one: ${name}="$(openssl rand -hex 24)"`,
  );
}

/** A secret, or the content of the file that a reference (`file:/absolute/path`) names. */
function secretBehind(text: string | undefined, environment: Environment): string | undefined {
  return text !== undefined && SECRET_REFERENCE.test(text)
    ? resolveSecret({ from: text }, environment)
    : text;
}

function read(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === '' ? undefined : value;
}

function unusable(message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_USAGE', message, { hint });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return 'unknown';
  }
}
