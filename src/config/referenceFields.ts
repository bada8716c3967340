import { z } from 'zod';

import { SECRET_REFERENCE } from '../domain/secretReference.ts';
import { Text } from './scalarFields.ts';

/** Fields of `slipway.yaml` that say where something is: a secret, a service. */

export const Reference = Text.refine((text) => SECRET_REFERENCE.test(text), {
  message:
    'expected a reference, "env:NAME" or "file:/absolute/path"; a secret itself never belongs in this file',
}).describe('Where the secret comes from: env:NAME or file:/absolute/path');

/** A secret, by where it comes from. */
export const SecretReference = z.strictObject({ from: Reference });

/** The base URL of a service. */
export const ServiceUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .refine((url) => !hasCredentials(url), { message: 'must not carry credentials; use apiKey' });

function hasCredentials(url: string): boolean {
  return URL.canParse(url) && new URL(url).username !== '';
}
