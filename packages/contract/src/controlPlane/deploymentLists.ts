import { z } from 'zod';

import { LIST_IDS_MAX } from '../limits.ts';
import { PageQuery } from '../pageQuery.ts';
import { QueryBoolean, text, Uuid } from '../scalars.ts';
import { Deployment } from './deployment.ts';
import { PublicDeploymentType } from './sourceConfig.ts';

/** `GET /v2/deployments` (public relative): newest first, `offset` being where the next page begins. */
export const DeploymentsList = z.looseObject({ resources: z.array(Deployment), offset: z.int() });
export type DeploymentsList = z.infer<typeof DeploymentsList>;

/** Ids as a query has them: once with commas between them, or several times. */
const Ids = z
  .union([text(), z.array(text())])
  .transform((given) => [given].flat().flatMap((list) => list.split(',')))
  .transform((words) => words.map((word) => word.trim()).filter((word) => word !== ''))
  .pipe(z.array(Uuid).max(LIST_IDS_MAX));

/**
 * The query of `GET /v2/deployments` (public relative): every filter that is given has to fit, and an empty one
 * filters nothing. Decisions:
 * `remote_reconciled` fits every deployment, because this platform carries out what it accepts by itself, and
 * `tag_value_ids` fits none, because deployments have no tags here.
 */
export const DeploymentsQuery = z.object({
  ...PageQuery.shape,
  name_contains: text().optional(),
  status: text().optional(),
  image_version: text().optional(),
  deployment_type: PublicDeploymentType.optional(),
  deployment_ids: Ids.optional(),
  remote_reconciled: QueryBoolean.optional(),
  tag_value_ids: text().optional(),
});
export type DeploymentsQuery = z.infer<typeof DeploymentsQuery>;

/** The query of `DELETE /v2/deployments` (public relative). */
export const DeploymentsDeleteQuery = z.object({
  deployment_ids: Ids.refine((ids) => ids.length > 0, { error: 'Input should name a deployment' }),
});
export type DeploymentsDeleteQuery = z.infer<typeof DeploymentsDeleteQuery>;

/**
 * What `DELETE /v2/deployments` answers; the public relative shows no shape. 200 where all of them are gone, 207 where
 * some are not there; where none is, 404.
 */
export const DeploymentsDeleted = z.looseObject({
  deleted: z.array(Uuid),
  failed: z.array(z.looseObject({ deployment_id: Uuid, detail: z.string() })),
});
export type DeploymentsDeleted = z.infer<typeof DeploymentsDeleted>;
