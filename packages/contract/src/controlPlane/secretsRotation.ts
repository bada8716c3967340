import { z } from 'zod';

/** `POST /v1/secrets/rotation`, once every stored secret has the new master key. */
export const SecretsRotated = z.looseObject({
  /** How many stored lists of secrets were sealed anew. */
  resealed: z.int(),
});
export type SecretsRotated = z.infer<typeof SecretsRotated>;
