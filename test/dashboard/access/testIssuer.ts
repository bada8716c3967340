import { createServer } from 'node:http';

import { type Configuration, Provider } from 'oidc-provider';
import { vi } from 'vitest';
import { closeServer, listen } from '../../support/listen.ts';

export const CLIENT_ID = 'slipway-page';
export const CLIENT_SECRET = 'the-secret-of-the-client';

/** The issuer's claims about its people, by login. */
const PEOPLE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  ada: {
    email: 'ada@example.com',
    email_verified: true,
    roles: ['admin', 'something else'],
    groups: ['sre'],
  },
  ben: { email: 'ben@example.com', email_verified: true, roles: 'release', groups: ['agents'] },
  eve: { email: 'ada@example.com', email_verified: false },
};

/** A real OIDC issuer on its own port. */
export interface TestIssuer {
  readonly url: string;
  /** With these variables, a page uses it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Registers the client. Until then, the issuer answers nothing. */
  register(redirectUri: string, configuration?: Configuration): void;
  close(): Promise<void>;
}

/** Starts an issuer, `oidc-provider`, with its own sign-in pages. */
export async function startIssuer(port = 0): Promise<TestIssuer> {
  // It warns that it keeps everything in memory, as the tests want.
  for (const method of ['warn', 'info'] as const)
    vi.spyOn(console, method).mockImplementation(() => undefined);
  // On a busy machine, the default of 5 s may pass just before the next request.
  const server = createServer({ keepAliveTimeout: 65_000 });
  const url = await listen(server, port);
  return {
    url,
    environment: {
      SLIPWAY_OIDC_ISSUER: url,
      SLIPWAY_OIDC_CLIENT_ID: CLIENT_ID,
      SLIPWAY_OIDC_CLIENT_SECRET: CLIENT_SECRET,
    },
    register(redirectUri, configuration = {}) {
      const provider = new Provider(url, {
        clients: [
          {
            client_id: CLIENT_ID,
            client_secret: CLIENT_SECRET,
            redirect_uris: [redirectUri],
            post_logout_redirect_uris: [new URL('/signed-out', redirectUri).href],
          },
        ],
        claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['roles', 'groups'] },
        findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...PEOPLE[id] }) }),
        ...configuration,
      });
      server.removeAllListeners('request');
      server.on('request', (request, response) => void provider.callback()(request, response));
    },
    close: () => closeServer(server),
  };
}

export const COMMAND_CLIENT_ID = 'slipway-command';

/** Registers the command with the issuer: a native client without a secret. */
export function registerCommand(issuer: TestIssuer): void {
  const callback = 'http://127.0.0.1/callback';
  issuer.register(callback, {
    clients: [
      {
        client_id: COMMAND_CLIENT_ID,
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: [callback],
      },
    ],
    conformIdTokenClaims: false,
  });
}
