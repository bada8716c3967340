import { z } from 'zod';

import { SECRET_REFERENCE } from '../domain/secretReference.ts';
import { serviceUrlProblem } from '../domain/targetSpec.ts';
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
  .superRefine((url, context) => {
    const message = serviceUrlProblem(url);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });
