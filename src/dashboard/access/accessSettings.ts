import { createClientAddress } from '@slipway/contract/clientAddress';
import { z } from 'zod';

import {
  type Environment,
  isLoopback,
  readDashboardUrl,
  setting,
  userName,
} from '../../config/environment.ts';
import { keySetting } from '../../config/secretReference.ts';
import { readYamlFile } from '../../config/yamlFile.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { type IssuerClient, readIssuerClient } from '../../identity/issuerClient.ts';
import { type Claims, verifiedEmail } from '../../identity/proof.ts';
import { type Role, ROLES } from './session.ts';

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
export function readAccessSettings(environment: Environment, host: string): AccessSettings {
  const publicUrl = readDashboardUrl(environment);
  const sessionSecret = keySetting(environment, 'SLIPWAY_DASHBOARD_SECRET');
  const signIn = readSignIn(environment);
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

function readSignIn(environment: Environment): SignIn {
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
  const hint = 'docs/sign-in.md describes its fields';
  const file =
    roleFile === undefined ? undefined : readYamlFile(roleFile, RoleFile, 'the file of roles', hint);
  const ownClaim = file === undefined ? 'roles' : 'groups';
  const claim = setting(environment, 'SLIPWAY_OIDC_ROLE_CLAIM') ?? ownClaim;
  return { way: 'oidc', ...client, roles: { claim, file } };
}

function unusable(message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_USAGE', message, { hint });
}

const RoleField = z.enum(ROLES);

const RoleFile = z.strictObject({
  /** The role of people whom the file does not name. `none`: the page refuses them. */
  default: z.enum([...ROLES, 'none']).default('view'),
  /** By e-mail address. */
  people: z.record(z.string().min(1), RoleField).default({}),
  /** By the group's name in the claim. */
  groups: z.record(z.string().min(1), RoleField).default({}),
});

type RoleFile = z.infer<typeof RoleFile>;

interface RoleSource {
  /** The claim with a person's roles, or, if there is a file, with their groups. */
  readonly claim: string;
  readonly file?: RoleFile;
}

/**
 * A person's highest role. Without a file: of the roles in the claim, `view` if it has none. With a file: of the roles
 * that it gives to their e-mail address and their groups. `undefined`: the file refuses them.
 */
export function roleOf({ claim, file }: RoleSource, claims: Claims): Role | undefined {
  const named = textsIn(claims[claim]);
  if (file === undefined) return highest(named) ?? 'view';
  const email = verifiedEmail(claims)?.toLowerCase();
  const ofPerson = Object.entries(file.people).filter(([address]) => address.toLowerCase() === email);
  const ofGroups = Object.entries(file.groups).filter(([group]) => named.includes(group));
  const role = highest([...ofPerson, ...ofGroups].map(([, given]) => given));
  return role ?? (file.default === 'none' ? undefined : file.default);
}

function highest(roles: readonly string[]): Role | undefined {
  return ROLES.findLast((role) => roles.includes(role));
}

function textsIn(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : [value]).filter((item) => typeof item === 'string');
}
