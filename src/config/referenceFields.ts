import { z } from 'zod';

import { SECRET_REFERENCE } from '@slipway/contract/secretReference';
import { AGENT_ORIGIN, serviceUrlProblem } from '../domain/target/targetSpec.ts';

/** Fields of `slipway.yaml` that say where something is: a secret, a service. */

const REFERENCE_EXPECTED = 'expected env:NAME or file:/absolute/path, never the secret itself';

export const Reference = z
  .string(REFERENCE_EXPECTED)
  .trim()
  .min(1, REFERENCE_EXPECTED)
  .refine((text) => SECRET_REFERENCE.test(text), REFERENCE_EXPECTED)
  .describe('Where the secret comes from: env:NAME or file:/absolute/path');

/** A secret, by where it comes from. */
export const SecretReference = z.strictObject(
  { from: Reference },
  typeProblem('expected { from: env:NAME } or { from: file:/absolute/path }, never the secret itself'),
);

/** The base URL of a service. */
export const ServiceUrl = z
  .url({ protocol: /^https?$/, error: 'expected an http or https URL' })
  .superRefine((url, context) => {
    const message = serviceUrlProblem(url);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

/** The origin of a service, or every host below a domain. */
export const Origin = z
  .string()
  .regex(AGENT_ORIGIN, 'expected an origin such as https://agents.example.com or https://*.example.com');

/** What is said of a value of another type; what is wrong within it is said field by field. */
export function typeProblem(problem: string) {
  return { error: ({ code }: { readonly code: string }) => (code === 'invalid_type' ? problem : undefined) };
}
