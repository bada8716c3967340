import { createServer } from 'node:http';

import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { closeServer, listen } from '../support/listen.ts';

/** An issuer like those of CI systems: discovery, keys, and tokens with any claims. */
export interface LocalIssuer {
  readonly url: string;
  /** A token that is valid for an hour. Default: from now on. */
  token(claims: Readonly<Record<string, unknown>>, from?: Date): Promise<string>;
  changeKey(): Promise<void>;
  answerKeysWith(status: number): void;
  close(): Promise<void>;
}

export async function startLocalIssuer(): Promise<LocalIssuer> {
  let pair = await generateKeyPair('RS256');
  let kid = 1;
  let keysStatus = 200;
  // On a busy machine, the default of 5 s may pass just before the next request.
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    void (async () => {
      const answer =
        request.url === '/keys'
          ? { keys: [{ ...(await exportJWK(pair.publicKey)), kid: String(kid), alg: 'RS256' }] }
          : { issuer: url, jwks_uri: `${url}/keys` };
      response.statusCode = request.url === '/keys' ? keysStatus : 200;
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    })();
  });
  const url = await listen(server);
  return {
    url,
    token: (claims, from = new Date()) => {
      const seconds = Math.floor(from.getTime() / 1_000);
      return new SignJWT({ iss: url, iat: seconds, exp: seconds + 3_600, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: String(kid) })
        .sign(pair.privateKey);
    },
    async changeKey() {
      pair = await generateKeyPair('RS256');
      kid += 1;
    },
    answerKeysWith: (status) => void (keysStatus = status),
    close: () => closeServer(server),
  };
}
