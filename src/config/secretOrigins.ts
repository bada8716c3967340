import { z } from 'zod';

import { SlipwayError } from '../domain/errors.ts';
import { isWithin, originOf } from '../domain/target/origin.ts';
import type { SecretReference } from '../domain/target/targetSpec.ts';
import { type Environment, setting } from './environment.ts';
import { Origin, Reference } from './fields.ts';
import { resolveSecret } from './secretReference.ts';
import { readYamlFile } from './yamlFile.ts';

const VARIABLE = 'SLIPWAY_SECRET_ORIGINS';

const SecretOriginsFile = z.record(Reference, z.array(Origin));

/** The origins that each secret may be sent to, by its reference. A secret that is absent must not be sent to any origin. */
export type SecretOrigins = Readonly<Record<string, readonly string[]>>;

/** The files by path. A process reads each once. */
const read = new Map<string, SecretOrigins>();

/**
 * The file that `SLIPWAY_SECRET_ORIGINS` names. `undefined`: the variable is not set, and requests choose the address.
 * @throws SLIPWAY_CONFIG_INVALID if the file cannot be used.
 */
export function readSecretOrigins(environment: Environment): SecretOrigins | undefined {
  const path = setting(environment, VARIABLE);
  if (path === undefined) return undefined;
  const hint = 'docs/threat-model.md describes it';
  const known = read.get(path) ?? readYamlFile(path, SecretOriginsFile, `the file of ${VARIABLE}`, hint);
  read.set(path, known);
  return known;
}

interface For {
  /** Default: this process's. */
  readonly environment?: Environment;
  /** The address as errors show it, if it is a secret itself. Default: its origin. */
  readonly shown?: string;
}

/**
 * Resolves a secret that will be sent to an address. The author of a request chooses both, so the pair must be allowed.
 * @throws SLIPWAY_SECRET_REFUSED if this process must not send it there, and what {@link resolveSecret} throws.
 */
export function secretFor(
  reference: SecretReference,
  url: string,
  { environment = process.env, shown }: For = {},
): string {
  const origins = readSecretOrigins(environment);
  if (origins !== undefined && !mayGoTo(origins, reference, url)) {
    throw refused(reference, shown ?? originOf(url));
  }
  return resolveSecret(reference, environment);
}

/** Resolves a secret that will be sent to some allowed address. @throws as {@link secretFor}. */
export function secretForSome(reference: SecretReference, environment: Environment): string {
  const origins = readSecretOrigins(environment);
  if (origins !== undefined && !Object.hasOwn(origins, reference.from)) {
    throw refused(reference, 'any address');
  }
  return resolveSecret(reference, environment);
}

/** Resolves a secret that is itself an address: a webhook's. @throws as {@link secretFor}. */
export function secretAddress(reference: SecretReference, environment: Environment = process.env): string {
  const url = secretForSome(reference, environment);
  const origins = readSecretOrigins(environment);
  if (origins === undefined || mayGoTo(origins, reference, url)) return url;
  throw refused(reference, 'the address that it is');
}

/** Whether a secret may be sent to an address. An unparsable address is never allowed. */
function mayGoTo(origins: SecretOrigins, { from }: SecretReference, url: string): boolean {
  if (!Object.hasOwn(origins, from) || !URL.canParse(url)) return false;
  return origins[from]?.some((origin) => isWithin(url, origin)) ?? false;
}

function refused({ from }: SecretReference, where: string): SlipwayError {
  return new SlipwayError('SLIPWAY_SECRET_REFUSED', `the secret "${from}" must not be sent to ${where}`, {
    place: from,
    hint: `list the origin below "${from}" in the file that ${VARIABLE} names, and start the process again`,
  });
}
