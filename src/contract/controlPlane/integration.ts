import { z } from 'zod';

import { Uuid } from '../scalars.ts';

/**
 * One integration with the repository host: its `id` is the `integration_id` of a `source_config` (contract 000,
 * "Endpoints"). The other fields are those of the public relative.
 */
export const IntegrationInstall = z.looseObject({
  id: Uuid,
  installation_id: z.int().nullish(),
  name: z.string().nullish(),
});
export type IntegrationInstall = z.infer<typeof IntegrationInstall>;

/** `GET /v1/integrations/github/install`. "Response shape: not shown"; the public relative answers an array. */
export const IntegrationInstalls = z.array(IntegrationInstall);
export type IntegrationInstalls = z.infer<typeof IntegrationInstalls>;
