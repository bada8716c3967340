import { z } from 'zod';

import { IDEMPOTENCY_KEY_MAX } from '../limits.ts';

/**
 * The header `Idempotency-Key` (IETF draft "The Idempotency-Key HTTP Header Field"; neither the contract nor its public
 * relative has it). The draft writes the key as a quoted text; decision: a bare one is taken as well, as most clients
 * send it, and both say the same. 1 to 255 characters of printable ASCII; in quotes, `"` and `\` follow a backslash.
 */
const IdempotencyKey = z
  .string()
  .max(2 * IDEMPOTENCY_KEY_MAX + 2)
  .transform((sent) => (QUOTED.test(sent) ? sent.slice(1, -1).replaceAll(/\\(["\\])/gu, '$1') : sent))
  .pipe(
    z
      .string()
      .min(1, { abort: true })
      .max(IDEMPOTENCY_KEY_MAX)
      .regex(/^[!-~](?:[ -~]*[!-~])?$/u, { error: 'Input should be printable ASCII' }),
  );
type IdempotencyKey = z.infer<typeof IdempotencyKey>;

const QUOTED = /^"(?:[^"\\]|\\["\\])*"$/u;

/** The headers of `POST /v2/deployments`. */
export const DeploymentCreateHeaders = z.object({
  'idempotency-key': IdempotencyKey.optional().describe(
    'The same key with the same body creates once: the second answer is that of the first',
  ),
});
export type DeploymentCreateHeaders = z.infer<typeof DeploymentCreateHeaders>;
