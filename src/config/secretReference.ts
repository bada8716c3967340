import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';

import { SlipwayError } from '../domain/errors.ts';
import { type SecretReference } from '../domain/targetSpec.ts';

const ENVIRONMENT_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * Whether a text is a reference to a secret: `env:NAME`, or `file:/absolute/path`. Anything else may be the secret
 * itself, written where only a reference belongs.
 */
export function isSecretReference(text: string): boolean {
  if (text.startsWith('env:')) return ENVIRONMENT_NAME.test(text.slice('env:'.length));
  return text.startsWith('file:') && isAbsolute(text.slice('file:'.length));
}

/**
 * The secret behind a reference, read from this process's environment or files. A file's last line end is dropped.
 *
 * @throws SLIPWAY_SECRET_MISSING that names the reference, never a value.
 */
export function resolveSecret(
  reference: SecretReference,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  const { from } = reference;
  if (!isSecretReference(from)) {
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', 'a secret is not given by reference', {
      hint: 'write "env:NAME" or "file:/absolute/path"',
    });
  }
  const value = from.startsWith('env:') ? environment[from.slice('env:'.length)] : readSecretFile(from);
  if (value === undefined || value === '') {
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', `the secret "${from}" is not set`, {
      place: from,
      hint: 'set it where the worker runs',
    });
  }
  return value;
}

function readSecretFile(from: string): string {
  try {
    return readFileSync(from.slice('file:'.length), 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new SlipwayError('SLIPWAY_SECRET_MISSING', `the secret "${from}" could not be read`, {
      place: from,
      hint: 'the file must exist, and be readable where the worker runs',
      cause: error,
    });
  }
}
