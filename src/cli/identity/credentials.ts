import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { z } from 'zod';

import type { Environment } from '../../config/environment.ts';
import { parsedJson } from '../../domain/scalars.ts';
import { isSigningKey } from '../../identity/proof.ts';

const Credentials = z.strictObject({
  issuer: z.string(),
  name: z.string(),
  idToken: z.string(),
  /** When the ID token expires, in milliseconds since 1970. */
  expires: z.number(),
  privateKey: z.record(z.string(), z.unknown()).refine(isSigningKey),
});
export type Credentials = z.infer<typeof Credentials>;

function credentialsFile({ XDG_CONFIG_HOME: configured, APPDATA: onWindows }: Environment): string {
  const folder = [configured, process.platform === 'win32' ? onWindows : undefined].find(
    (value) => value !== undefined && value !== '',
  );
  return join(folder ?? join(homedir(), '.config'), 'slipway', 'identity.json');
}

/** The stored credentials; `undefined`: none that can be read, so the person has to sign in. */
export async function readCredentials(environment: Environment): Promise<Credentials | undefined> {
  try {
    const text = await readFile(credentialsFile(environment), 'utf8');
    return (await Credentials.safeParseAsync(parsedJson(text))).data;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Stores credentials in a file that only the user can read. */
export async function writeCredentials(environment: Environment, credentials: Credentials): Promise<string> {
  const file = credentialsFile(environment);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const unfinished = `${file}.${process.pid}.tmp`;
  await writeFile(unfinished, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 });
  await rename(unfinished, file);
  return file;
}

export async function removeCredentials(environment: Environment): Promise<void> {
  await rm(credentialsFile(environment), { force: true });
}
