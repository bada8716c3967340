import { constants } from 'node:fs';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir, userInfo } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

import { z } from 'zod';

import type { ArtifactStore } from '../artifact/artifactStore.ts';
import { systemReason } from '../artifact/sourceFiles.ts';
import type { Environment } from '../config/environment.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { Prove, Statement } from '../domain/identity/statement.ts';
import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import { isRecord, parsedJson } from '../domain/scalars.ts';
import {
  isSigningKey,
  personProof,
  type Proof,
  proverFor,
  putProof,
  statementAudience,
} from '../identity/proof.ts';
import type { ReportContext } from './context.ts';

const TIMEOUT_MS = 10_000;

/**
 * Stores the proof of identity in the artifact store, for the worker. The proof is of the CI job, or of the person who
 * signed in.
 * @returns the record's name, which the message carries.
 * @throws SLIPWAY_IDENTITY_UNPROVED if there is no proof; SLIPWAY_ARTIFACT_STORE_….
 */
export async function keepProof(
  environment: Environment,
  store: Pick<ArtifactStore, 'putRecord'>,
  statement: Statement,
): Promise<string> {
  return putProof(store, await proofOf(environment, statement));
}

/**
 * Makes the proofs of identity for a command's messages; `undefined`: the approval requires no proof. Prints a note
 * with the reason if a name stays claimed.
 * @param open - opens the artifact store that the worker reads.
 */
export function commandProver(
  { environment, output }: ReportContext,
  approval: ApprovalPolicy | undefined,
  open: () => Pick<ArtifactStore, 'putRecord'>,
): Prove | undefined {
  return proverFor(
    approval,
    (statement) => keepProof(environment, open(), statement),
    (why) => output.warn(`the record will have a claimed name: ${why}`),
  );
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

/** An ID token of the GitHub job that is valid for this statement only. */
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

const Credentials = z.strictObject({
  issuer: z.string(),
  name: z.string(),
  idToken: z.string(),
  /** When the ID token expires, in milliseconds since 1970. */
  expires: z.number(),
  privateKey: z.record(z.string(), z.unknown()).refine(isSigningKey),
});
type Credentials = z.infer<typeof Credentials>;

/** Never in the working folder, whose files may be packed: empty and relative variables do not count. */
export function credentialsFile({ XDG_CONFIG_HOME: configured, APPDATA: onWindows }: Environment): string {
  const folder = [configured, process.platform === 'win32' ? onWindows : undefined].find(
    (value) => value !== undefined && isAbsolute(value),
  );
  return join(folder ?? join(homedir() || userInfo().homedir, '.config'), 'slipway', 'identity.json');
}

/** The stored credentials; `undefined`: none that can be read, so the person has to sign in. */
async function readCredentials(environment: Environment): Promise<Credentials | undefined> {
  try {
    const text = await readFile(credentialsFile(environment), 'utf8');
    return (await Credentials.safeParseAsync(parsedJson(text))).data;
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    // The user of a service may have no home, or one that is no folder.
    if (code === 'ENOENT' || code === 'ENOTDIR' || syscall?.startsWith('uv_os_') === true) return undefined;
    throw missing(`your sign-in could not be read: ${systemReason(error)}`);
  }
}

/** Makes the folder of the credentials. @throws the system's error if it cannot be written. */
export async function makeCredentialsFolder(environment: Environment): Promise<void> {
  const folder = dirname(credentialsFile(environment));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await access(folder, constants.W_OK);
}

/** Stores credentials in a file that only the user can read. Call {@link makeCredentialsFolder} before. */
export async function writeCredentials(environment: Environment, credentials: Credentials): Promise<string> {
  const file = credentialsFile(environment);
  const unfinished = `${file}.${process.pid}.tmp`;
  await writeFile(unfinished, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file);
  return file;
}

export async function removeCredentials(environment: Environment): Promise<void> {
  await rm(credentialsFile(environment), { force: true });
}
