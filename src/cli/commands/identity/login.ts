import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { SlipwayError } from '../../../domain/errors.ts';
import { exactText } from '../../../domain/scalars.ts';
import { isRefusal, Issuer, whyNot } from '../../../identity/issuer.ts';
import { type IssuerClient, readIssuerClient } from '../../../identity/issuerClient.ts';
import { newSigningKey, verifiedEmail } from '../../../identity/proof.ts';
import type { CommandContext } from '../../context.ts';
import { makeCredentialsFolder, removeCredentials, writeCredentials } from '../../identity.ts';

/** How long a person may take to sign in at the issuer. */
const SIGN_IN_MS = 10 * 60_000;
const CALLBACK = '/callback';

/**
 * `slipway login`: signs in at the OIDC issuer in a browser. The issuer redirects it to this machine's loopback
 * address (RFC 8252). Stores the ID token and the key that it is bound to.
 */
export async function runLoginCommand(context: CommandContext): Promise<void> {
  const { output, environment } = context;
  const client = readIssuerClient(environment);
  if (client === undefined) {
    const what = 'SLIPWAY_OIDC_ISSUER and SLIPWAY_OIDC_CLIENT_ID are not both set';
    const hint = 'ask the person who runs your workers for both (docs/sign-in.md)';
    throw new SlipwayError('SLIPWAY_USAGE', what, { hint });
  }
  // Before the person signs in.
  await makeCredentialsFolder(environment);
  const issuer = new Issuer(client);
  const { privateKey, nonce } = await newSigningKey();
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${CALLBACK}`;
    const { url, checks } = await asking(client, () => issuer.begin(redirectUri, nonce));
    output.event({ event: 'sign_in', url: url.href });
    output.print(`Open this address in a browser on this machine, and sign in:\n\n  ${url.href}\n`);
    const answer = await answerOf(server, redirectUri, checks.state);
    const { claims, expires, idToken } = await asking(client, () => issuer.finish(answer, checks));
    const name = verifiedEmail(claims) ?? claims.sub;
    const file = await writeCredentials(environment, {
      issuer: client.issuer.href,
      name,
      idToken,
      expires,
      privateKey: { ...privateKey },
    });
    const until = new Date(expires).toISOString();
    output.event({ event: 'signed_in', name, until, file });
    output.print(`You are signed in as ${name} until ${exactText(until)}.`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** `slipway logout`: removes the credentials that `slipway login` stored. */
export async function runLogoutCommand({ output, environment }: CommandContext): Promise<void> {
  await removeCredentials(environment);
  output.event({ event: 'signed_out' });
  output.print('You are signed out.');
}

/** Waits for the issuer's redirect. Rejects requests that do not belong to this sign-in. */
async function answerOf(
  server: ReturnType<typeof createServer>,
  redirectUri: string,
  state: string,
): Promise<URL> {
  const late = AbortSignal.timeout(SIGN_IN_MS);
  return await new Promise((resolve, reject) => {
    late.addEventListener('abort', () => {
      reject(failed('no sign-in arrived within 10 minutes'));
    });
    server.on('request', (request, response) => {
      const { url: asked = '' } = request;
      // Any program on this machine can send anything.
      const url = URL.canParse(asked, redirectUri) ? new URL(asked, redirectUri) : undefined;
      const isOurs = url?.pathname === CALLBACK && url.searchParams.get('state') === state;
      response.writeHead(isOurs ? 200 : 404, {
        'content-type': 'text/plain; charset=utf-8',
        connection: 'close',
      });
      response.end(isOurs ? 'Go back to your terminal. You can close this page.\n' : 'Nothing is here.\n');
      if (isOurs) response.once('close', () => resolve(url));
    });
  });
}

async function asking<T>({ issuer }: IssuerClient, question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (isRefusal(error)) throw failed(`${issuer.host} did not confirm who you are: ${whyNot(error)}`, error);
    const message = `${issuer.host} could not be asked who you are: ${whyNot(error)}`;
    throw new SlipwayError('SLIPWAY_SIGN_IN_UNAVAILABLE', message, { hint: RETRY, cause: error });
  }
}

function failed(message: string, cause?: unknown): SlipwayError {
  return new SlipwayError('SLIPWAY_SIGN_IN_FAILED', message, { hint: RETRY, cause });
}

const RETRY = 'try again: slipway login';
