import { readFile } from 'node:fs/promises';

import { readSecretReference, secretInFile } from '@slipway/contract/secretReference';
import { GitFailure } from './gitCommand.ts';

/**
 * The secret that a reference leads to on this machine: `env:NAME` or `file:/path`. Line ends at its end are dropped.
 * @param what - what it is, as the beginning of a sentence.
 * @throws GitFailure that names the reference, never a value, when there is nothing.
 */
export async function readSecret(reference: string, what: string): Promise<string> {
  const secret = await found(reference);
  if (secret !== undefined && secret !== '') return secret;
  throw new GitFailure(
    `${what} is to be had from ${reference}, and there is nothing on the machine of this platform.`,
  );
}

async function found(reference: string): Promise<string | undefined> {
  const place = readSecretReference(reference);
  if (place === undefined) return undefined;
  if ('variable' in place) return process.env[place.variable];
  try {
    return secretInFile(await readFile(place.file, 'utf8'));
  } catch {
    // Not there, or not for us to read: whoever put the reference there learns which one it is.
    return undefined;
  }
}
