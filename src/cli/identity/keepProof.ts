import { setTimeout } from 'node:timers/promises';

import type { ArtifactStore } from '../../artifact/artifactStore.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Statement } from '../../domain/identity/statement.ts';
import { isRecord } from '../../domain/scalars.ts';
import { personProof, type Proof, putProof, statementAudience } from '../../identity/proof.ts';
import type { CommandContext } from '../context.ts';
import { readCredentials } from './credentials.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const TIMEOUT_MS = 10_000;

/**
 * Puts the proof of who asks into the artifact store, for the worker: of the CI job, or of the person who signed in.
 *
 * @returns the record's name, which the message carries.
 * @throws SLIPWAY_IDENTITY_UNPROVED where there is none; SLIPWAY_ARTIFACT_STORE_….
 */
export async function keepProof(
  environment: Environment,
  store: Pick<ArtifactStore, 'putRecord'>,
  statement: Statement,
): Promise<string> {
  return putProof(store, await proofOf(environment, statement));
}

/** How long a rollback waits for its proof to be made, in milliseconds. */
const IN_TIME_MS = 2_000;

/**
 * Makes the proof of who rolls back, if that is quickly done: a rollback goes on without it, and the record then says
 * that the name is claimed.
 *
 * @returns the record's name; `undefined`: there is no proof, and a note says why.
 */
export async function proveInTime(
  { environment, output }: Pick<CommandContext, 'environment' | 'output'>,
  store: Pick<ArtifactStore, 'putRecord'>,
  statement: Statement,
): Promise<string | undefined> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      keepProof(environment, store, statement),
      setTimeout(IN_TIME_MS, undefined, { signal: ended.signal }).then(() => {
        throw new Error(`no proof was made within ${IN_TIME_MS / 1_000} s`);
      }),
    ]);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    output.note(output.style.warn(`the record of this rollback will have a claimed name: ${why}`));
    return undefined;
  } finally {
    ended.abort();
  }
}

async function proofOf(environment: Environment, statement: Statement): Promise<Omit<Proof, 'at'>> {
  const {
    ACTIONS_ID_TOKEN_REQUEST_URL: url = '',
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer = '',
    SLIPWAY_ID_TOKEN: gitlab = '',
  } = environment;
  if (url !== '' && bearer !== '') return { token: await githubToken(url, bearer, statement) };
  if (gitlab !== '') return { token: gitlab };
  const credentials = await readCredentials(environment);
  if (credentials === undefined) throw missing('you are not signed in');
  if (credentials.expires < Date.now()) throw missing('your sign-in has expired');
  return personProof(credentials.idToken, credentials.privateKey, statement);
}

/** A token of GitHub's job for this statement alone. */
async function githubToken(url: string, bearer: string, statement: Statement): Promise<string> {
  const asked = new URL(url);
  asked.searchParams.set('audience', statementAudience(statement));
  let answer: unknown;
  try {
    const response = await fetch(asked, {
      headers: { authorization: `bearer ${bearer}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    answer = await response.json();
  } catch (error) {
    throw new SlipwayError('SLIPWAY_UNREACHABLE', 'GitHub did not give the job an ID token', {
      cause: error,
    });
  }
  if (isRecord(answer) && typeof answer['value'] === 'string') return answer['value'];
  throw missing('GitHub gave the job no ID token', 'give the job "permissions: { id-token: write }"');
}

function missing(message: string, hint = 'sign in: slipway login'): SlipwayError {
  return new SlipwayError(
    'SLIPWAY_IDENTITY_UNPROVED',
    `the target asks for a proof of who you are, and ${message}`,
    { hint },
  );
}
