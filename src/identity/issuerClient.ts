import { type Environment, httpsUrl, setting } from '../config/environment.ts';
import { secretSetting } from '../config/secretReference.ts';

/** Slipway's settings as a client of an OIDC issuer. */
export interface IssuerClient {
  readonly issuer: URL;
  readonly clientId: string;
  /** Absent: a public client. */
  readonly clientSecret?: string;
  /** The requested scopes, separated by spaces. */
  readonly scope: string;
}

/** The settings of `SLIPWAY_OIDC_…`; `undefined` if the issuer or the client's id is not set. */
export function readIssuerClient(environment: Environment): IssuerClient | undefined {
  const issuer = setting(environment, 'SLIPWAY_OIDC_ISSUER');
  const clientId = setting(environment, 'SLIPWAY_OIDC_CLIENT_ID');
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer: httpsUrl('SLIPWAY_OIDC_ISSUER', issuer),
    clientId,
    clientSecret: secretSetting(environment, 'SLIPWAY_OIDC_CLIENT_SECRET'),
    scope: setting(environment, 'SLIPWAY_OIDC_SCOPE') ?? 'openid email profile',
  };
}
