import { readFileSync } from 'node:fs';

import { readSecretReference, SECRET_REFERENCE, secretInFile } from '@slipway/contract/secretReference';

import { SlipwayError } from '../domain/errors.ts';
import type { SecretReference } from '../domain/target/targetSpec.ts';
import { type Environment, setting } from './environment.ts';

/**
 * Resolves a reference from this process's environment or files. Removes trailing line ends.
 * @throws SLIPWAY_SECRET_MISSING that names the reference, never a value.
 */
export function resolveSecret(reference: SecretReference, environment: Environment = process.env): string {
  const { from } = reference;
  const place = readSecretReference(from);
  if (place === undefined) {
    const hint = 'write "env:NAME" or "file:/absolute/path"';
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', 'a secret is written in place of a reference', { hint });
  }
  const value = 'variable' in place ? environment[place.variable] : readSecretFile(from, place.file);
  if (value === undefined || value === '') {
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', `the secret "${from}" is not set`, {
      place: from,
      hint:
        'variable' in place
          ? `set ${place.variable} where it is read: in the worker’s environment for a release, else in this command’s`
          : 'write it into the file where it is read: on the worker’s machine for a release, else on this one',
    });
  }
  return value;
}

/** The secrets that a value refers to and this process has, to redact them from external texts. */
export function knownSecrets(value: unknown, environment: Environment = process.env): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('from' in value && typeof value.from === 'string' && SECRET_REFERENCE.test(value.from)) {
    return knownSecret({ from: value.from }, environment);
  }
  return [...new Set(Object.values(value).flatMap((part) => knownSecrets(part, environment)))];
}

function knownSecret(reference: SecretReference, environment: Environment): readonly string[] {
  try {
    return [resolveSecret(reference, environment)];
  } catch (error) {
    if (error instanceof SlipwayError) return [];
    throw error;
  }
}

function readSecretFile(from: string, path: string): string {
  try {
    return secretInFile(readFileSync(path, 'utf8'));
  } catch (error) {
    const what = `the secret "${from}" could not be read`;
    const hint =
      'create the file where it is read, readable for that process: the worker for a release, else this command';
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', what, { place: from, hint, cause: error });
  }
}

/** The secret of a variable: its text, or what that refers to (`env:NAME`, `file:/absolute/path`). */
export function secretSetting(environment: Environment, name: string): string | undefined {
  const text = setting(environment, name);
  return text !== undefined && SECRET_REFERENCE.test(text)
    ? resolveSecret({ from: text }, environment)
    : text;
}

/** The fewest characters of a key. Shorter ones could be guessed. */
const SHORTEST_KEY = 16;

/** The {@link secretSetting} that protects a server of Slipway. @throws SLIPWAY_USAGE if it is too short. */
export function keySetting(environment: Environment, name: string): string | undefined {
  const key = secretSetting(environment, name);
  if (key === undefined || key.length >= SHORTEST_KEY) return key;
  throw new SlipwayError('SLIPWAY_USAGE', `${name} is shorter than ${SHORTEST_KEY} characters`, {
    place: name,
    hint: `make one: ${name}="$(openssl rand -hex 24)"`,
  });
}
