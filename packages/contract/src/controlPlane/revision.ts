import { z } from 'zod';

import { Deployment } from './deployment.ts';
import { contract, ours, publicApi } from '../endpoint.ts';
import { oneOf, openEnum, PageQuery, QueryBoolean, queryFilter, text, Timestamp, Uuid } from '../scalars.ts';
import { AnsweredSourceRevisionConfig, Source } from './source.ts';

/**
 * Contract 000, "States and transitions": "`DEPLOYED` is the only value named; other values and transitions: not
 * shown". The others are those of the public API.
 */
export const RevisionStatus = oneOf([
  'CREATING',
  'QUEUED',
  'AWAITING_BUILD',
  'BUILDING',
  'AWAITING_DEPLOY',
  'DEPLOYING',
  'CREATE_FAILED',
  'BUILD_FAILED',
  'DEPLOY_FAILED',
  'DEPLOYED',
  'SKIPPED',
  'INTERRUPTED',
  'UNKNOWN',
]);

/**
 * A revision as the control plane returns it (contract 000, "Other resources": "fields not shown beyond a `status` …
 * and the SourceRevisionConfig fields"). The fields are those of the public API; only `id` and `status` are required.
 * `status_message` is our addition: why the revision failed, if the control plane reports it.
 */
export const Revision = z.looseObject({
  id: Uuid,
  status: openEnum(RevisionStatus),
  created_at: Timestamp.nullish(),
  updated_at: Timestamp.nullish(),
  source: openEnum(Source).nullish(),
  source_revision_config: AnsweredSourceRevisionConfig.nullish(),
  status_message: z.string().nullish(),
});
export type Revision = z.infer<typeof Revision>;

/** `GET /v2/deployments/{deployment_id}/revisions` (public API): newest first. */
export const RevisionsList = z.looseObject({ resources: z.array(Revision), offset: z.int() });

/**
 * Its query (public API): `status` is a comma-separated list; an unknown status matches nothing.
 * `remote_reconciled`: as in the query of deployments.
 */
export const RevisionsQuery = z.object({
  ...PageQuery.shape,
  status: text()
    .transform((list) => list.split(',').flatMap((word) => (word.trim() === '' ? [] : [word.trim()])))
    .optional(),
  remote_reconciled: queryFilter(QueryBoolean),
});
export type RevisionsQuery = z.infer<typeof RevisionsQuery>;

const REVISIONS = '/v2/deployments/{deployment_id}/revisions';
const REVISION = `${REVISIONS}/{revision_id}`;

/** Revisions: read, redeploy, list, interrupt. */
export const REVISIONS_ENDPOINTS = {
  getRevision: contract.get(REVISION, Revision),
  redeployRevision: contract.post(`${REVISION}/redeploy`, Deployment, { errors: [400] }),
  listRevisions: publicApi.get(REVISIONS, RevisionsList, { query: RevisionsQuery }),
  interruptRevision: ours.post(`${REVISION}/interrupt`, Revision, { errors: [400, 409] }),
} as const;
