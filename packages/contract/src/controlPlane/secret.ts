import { z } from 'zod';

import { refuse } from '../httpErrors.ts';
import { LIST_MAX, NAME_MAX, SECRET_VALUE_MAX_BYTES } from '../limits.ts';
import { EnvironmentName, nonEmptyText, text } from '../scalars.ts';

/** A secret of a deployment, exposed to it as an environment variable (contract 000, "Secret"). Both fields required. */
export const Secret = z.object({
  name: EnvironmentName,
  value: text(SECRET_VALUE_MAX_BYTES).refine((value) => Buffer.byteLength(value) <= SECRET_VALUE_MAX_BYTES, {
    error: `Input should have at most ${SECRET_VALUE_MAX_BYTES} bytes in UTF-8`,
  }),
});
export type Secret = z.infer<typeof Secret>;

/** An existing secret of the cluster that populates an environment variable (contract 000, "SecretReference"). */
export const SecretReference = z.object({
  name: EnvironmentName,
  secret_name: nonEmptyText(NAME_MAX),
  secret_key: nonEmptyText(NAME_MAX),
});

/** The whole list of secrets, with unique names. A PATCH replaces it; an omitted list is carried over, as in the public API. */
export const Secrets = z.array(Secret).max(LIST_MAX).superRefine(uniqueNames);

/** The whole list of references to secrets. Names are unique, as in {@link Secrets}. */
export const SecretReferences = z.array(SecretReference).max(LIST_MAX).superRefine(uniqueNames);

/** A secret in an answer. A service that does not return values leaves the value out or masks it. */
export const AnsweredSecret = z.looseObject({ name: z.string(), value: z.string().nullish() });
export type AnsweredSecret = z.infer<typeof AnsweredSecret>;

function uniqueNames(list: { name: string }[], context: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const [index, { name }] of list.entries()) {
    if (seen.has(name)) {
      refuse(context, [index, 'name'], 'The name is used by an earlier entry of the list', 'duplicate');
    }
    seen.add(name);
  }
}
