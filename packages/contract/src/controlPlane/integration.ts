import { z } from 'zod';

import { contract, ours } from '../endpoint.ts';
import { SECRET_REFERENCE } from '../secretReference.ts';
import { NAME_MAX } from '../limits.ts';
import { singleLineText, nonEmptyText, Timestamp, Uuid } from '../scalars.ts';

/**
 * An integration with a git host: its `id` is the `integration_id` of a `source_config` (contract 000, "Endpoints").
 * `installation_id` and `name` are the public API's fields, the others ours. `url_prefix` is the beginning of its
 * repositories' addresses. `credential` and `webhook_secret` are references to secrets, never values. The host sends
 * its pushes to `webhook_url`.
 */
const IntegrationInstall = z.looseObject({
  id: Uuid,
  installation_id: z.int().nullish(),
  name: z.string().nullish(),
  url_prefix: z.string().nullish(),
  username: z.string().nullish(),
  credential: z.string().nullish(),
  webhook_secret: z.string().nullish(),
  webhook_url: z.string().nullish(),
  created_at: Timestamp.nullish(),
});

/** `GET /v1/integrations/github/install`. "Response shape: not shown"; the public API answers an array. */
export const IntegrationInstalls = z.array(IntegrationInstall);

/** A reference to a secret on the platform's machine, never a secret itself: it is stored and returned. */
const SecretPlace = nonEmptyText().regex(SECRET_REFERENCE, {
  error: 'Input should be a reference, env:NAME or file:/absolute/path, never the secret itself',
});

/**
 * `POST /v1/integrations/github/install`: ours, because the public API's integrations are created on a host's own
 * pages. `credential` is a token for https, or a private key for ssh; without one, only public repositories can be
 * read. `username` goes with a token; default `x-access-token`, which GitHub requires and others accept.
 * `webhook_secret` verifies the host's pushes; without one, pushes are rejected and branches are polled.
 */
export const IntegrationCreate = z.object({
  name: singleLineText(NAME_MAX),
  url_prefix: nonEmptyText(),
  username: singleLineText(NAME_MAX).nullish(),
  credential: SecretPlace.nullish(),
  webhook_secret: SecretPlace.nullish(),
});
export type IntegrationCreate = z.infer<typeof IntegrationCreate>;

const INTEGRATIONS = '/v1/integrations/github/install';

/** Integrations with git hosts: list, create, delete. */
export const INTEGRATIONS_ENDPOINTS = {
  listIntegrations: contract.get(INTEGRATIONS, IntegrationInstalls),
  createIntegration: ours.post(INTEGRATIONS, IntegrationInstall, {
    request: IntegrationCreate,
    success: 201,
    errors: [409],
  }),
  deleteIntegration: ours.delete(`${INTEGRATIONS}/{integration_id}`, null, { errors: [409] }),
} as const;
