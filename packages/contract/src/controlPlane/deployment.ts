import { z } from 'zod';

import { contract, publicApi } from '../endpoint.ts';
import { canonicalJson } from '../json.ts';
import { refuse, refuseAll, type ValidationIssue } from '../httpErrors.ts';
import {
  DEPLOYMENT_NAME_MAX,
  IDEMPOTENCY_KEY_MAX,
  LIST_IDS_MAX,
  LIST_MAX,
  NAME_MAX,
  SECRET_VALUE_MAX_BYTES,
} from '../limits.ts';
import {
  EnvironmentName,
  nonEmptyText,
  oneOf,
  openEnum,
  PageQuery,
  QueryBoolean,
  queryFilter,
  singleLineText,
  text,
  Timestamp,
  Uuid,
} from '../scalars.ts';
import {
  AnsweredSourceConfig,
  AnsweredSourceRevisionConfig,
  BUILDABLE_SOURCES,
  findInapplicableFields,
  PublicDeploymentType,
  Source,
  SourceConfig,
  SourceRevisionConfig,
  checkTagRule,
  valueAt,
} from './source.ts';

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

/**
 * The whole list of secrets, with unique names. A PATCH replaces it; an omitted list is carried over, as in the public
 * API.
 */
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

/** Contract 000, "States and transitions". Read-only. */
const DeploymentStatus = oneOf(['AWAITING_DATABASE', 'READY', 'UNUSED', 'AWAITING_DELETE', 'UNKNOWN']);

/** A deployment as the control plane returns it (contract 000, "Deployment"). Loose: unknown fields and values pass. */
export const Deployment = z.looseObject({
  id: Uuid,
  tenant_id: Uuid,
  name: z.string(),
  source: openEnum(Source),
  source_config: AnsweredSourceConfig,
  source_revision_config: AnsweredSourceRevisionConfig,
  secrets: z.array(AnsweredSecret),
  secret_references: z.array(z.looseObject(SecretReference.shape)).nullish(),
  created_at: Timestamp,
  updated_at: Timestamp,
  status: openEnum(DeploymentStatus),
  latest_revision_id: Uuid.nullable(),
  active_revision_id: Uuid.nullable(),
  image_version: z.string().nullish(),
});
export type Deployment = z.infer<typeof Deployment>;

/** A deployment's name. Decision: one line of 1 to 128 characters, no control characters, no blanks at its ends. */
const DeploymentName = singleLineText(DEPLOYMENT_NAME_MAX);

/** The fields of a request that creates a deployment, without the rules across fields. */
export const DeploymentFields = z.object({
  name: DeploymentName,
  source: Source,
  source_config: SourceConfig,
  source_revision_config: SourceRevisionConfig,
  secrets: Secrets,
  secret_references: SecretReferences.nullish(),
  image_version: nonEmptyText(NAME_MAX).nullish(),
});

/**
 * `POST /v2/deployments` (contract 000, "Deployment", "Endpoints"). Required: `name`, `source`, `source_config`,
 * `source_revision_config`, `secrets`. Decisions: read-only fields (`id`, `tenant_id`, `created_at`, `updated_at`,
 * `status`, `latest_revision_id`, `active_revision_id`, `repo_commit_sha`) and unknown fields are ignored, as in the
 * public API, so that an answer can be sent back. `image_uri` and `repo_url` are not required ("every field is
 * nullable and optional"; only `graph_config_path` is "required on create"): a deployment may get its image later.
 * `cluster_namespace` needs the `listener_id` that validates it.
 */
export const DeploymentCreate = DeploymentFields.superRefine((request, context) =>
  refuseAll(context, validateCreate(request)),
);
export type DeploymentCreate = z.infer<typeof DeploymentCreate>;

/**
 * `PATCH /v2/deployments/{deployment_id}`: the fields that may change (contract 000, "Deployment" and "Endpoints").
 * Null and absent both keep a field; `secrets` and `resource_spec` are replaced whole. Read-only and unknown fields
 * are ignored as in {@link DeploymentCreate}. The immutable `name` and `source` are checked, so that a change of them
 * is refused, not ignored. Rules that need the current deployment: {@link validatePatch}.
 */
export const DeploymentPatch = z.object({
  name: z.string().nullish(),
  source: z.string().nullish(),
  source_config: SourceConfig.nullish(),
  source_revision_config: SourceRevisionConfig.nullish(),
  secrets: Secrets.nullish(),
  secret_references: SecretReferences.nullish(),
  image_version: nonEmptyText(NAME_MAX).nullish(),
});
export type DeploymentPatch = z.infer<typeof DeploymentPatch>;

/** The query of `DELETE /v2/deployments/{deployment_id}` (public API). */
export const DeploymentDeleteQuery = z.object({ delete_tracing_project: QueryBoolean.default(false) });
export type DeploymentDeleteQuery = z.infer<typeof DeploymentDeleteQuery>;

/**
 * The rules of a PATCH that need the current deployment: immutable fields, fields by source, and the tag rule on the
 * result. A value equal to the current one is valid, so that an answer can be sent back. Empty: the patch is valid.
 */
export function validatePatch(current: Deployment, patch: DeploymentPatch): ValidationIssue[] {
  const isCurrent = (path: readonly string[], value: unknown): boolean =>
    canonicalJson(valueAt(current, path)) === canonicalJson(value);
  const inapplicable = findInapplicableFields(current.source, patch, isCurrent);
  const immutable = IMMUTABLE_PATHS.flatMap((path): ValidationIssue[] => {
    const value = valueAt(patch, path);
    if (value == null || isCurrent(path, value)) return [];
    const loc = ['body', ...path];
    if (inapplicable.some((issue) => issue.loc.every((part, index) => part === loc[index]))) return [];
    return [{ loc, msg: 'Cannot be changed once the deployment is created', type: 'immutable' }];
  });
  const tag = checkTagRule(
    patch.source_revision_config?.repo_ref ?? current.source_revision_config.repo_ref,
    patch.source_config?.build_on_push ?? current.source_config.build_on_push,
  );
  return [...immutable, ...inapplicable, ...tag];
}

/** Whether a PATCH creates a revision (contract 000, "Revision-creating updates"): any of the six set to non-null. */
export function createsRevision(patch: DeploymentPatch): boolean {
  return REVISION_CREATING_PATHS.some((path) => valueAt(patch, path) != null);
}

/** Contract 000, "States and transitions": exactly these updates create a revision. */
const REVISION_CREATING_PATHS: readonly (readonly string[])[] = [
  ['source_revision_config', 'repo_ref'],
  ['source_revision_config', 'graph_config_path'],
  ['source_revision_config', 'image_uri'],
  ['source_revision_config', 'source_tarball_path'],
  ['secrets'],
  ['source_config', 'resource_spec'],
];

/** Contract 000: "cannot change after creation", "immutable via PATCH". */
const IMMUTABLE_PATHS: readonly (readonly string[])[] = [
  ['name'],
  ['source'],
  ['source_config', 'integration_id'],
  ['source_config', 'repo_url'],
  ['source_config', 'deployment_type'],
  ['source_config', 'listener_id'],
  ['source_config', 'listener_config', 'cluster_namespace'],
];

/** The rules across the fields of a request that creates a deployment; `isExcused` allows a field for any source. */
export function validateCreate(
  request: z.infer<typeof DeploymentFields>,
  isExcused?: (path: readonly string[]) => boolean,
): ValidationIssue[] {
  const { source, source_config: config, source_revision_config: revisionConfig } = request;
  const issues = findInapplicableFields(source, request, isExcused);
  if (BUILDABLE_SOURCES.includes(source) && revisionConfig.graph_config_path == null) {
    issues.push({
      loc: ['body', 'source_revision_config', 'graph_config_path'],
      msg: `Required for source ${source}`,
      type: 'missing',
    });
  }
  if (config.listener_config?.cluster_namespace != null && config.listener_id == null) {
    issues.push({
      loc: ['body', 'source_config', 'listener_id'],
      msg: 'Required by source_config.listener_config.cluster_namespace',
      type: 'missing',
    });
  }
  if (source !== 'repo_host') return issues;
  return [...issues, ...checkTagRule(revisionConfig.repo_ref, config.build_on_push)];
}

/** `GET /v2/deployments` (public API): newest first; the next page begins at `offset`. */
export const DeploymentsList = z.looseObject({ resources: z.array(Deployment), offset: z.int() });

/** Ids in a query: one parameter with commas, or a repeated parameter. */
const Ids = z
  .union([text(), z.array(text())])
  .transform((given) => [given].flat().flatMap((list) => list.split(',')))
  .transform((words) => words.map((word) => word.trim()).filter((word) => word !== ''))
  .pipe(z.array(Uuid).max(LIST_IDS_MAX));

/**
 * The query of `GET /v2/deployments` (public API): all given filters must match, and an empty one matches all.
 * Decisions: `remote_reconciled` matches every deployment, because this platform applies what it accepts;
 * `tag_value_ids` matches none, because deployments have no tags here.
 */
export const DeploymentsQuery = z.object({
  ...PageQuery.shape,
  name_contains: text().optional(),
  status: text().optional(),
  image_version: text().optional(),
  deployment_type: queryFilter(PublicDeploymentType),
  deployment_ids: Ids.optional(),
  remote_reconciled: queryFilter(QueryBoolean),
  tag_value_ids: text().optional(),
});
export type DeploymentsQuery = z.infer<typeof DeploymentsQuery>;

/** The query of `DELETE /v2/deployments` (public API). */
export const DeploymentsDeleteQuery = z.object({
  deployment_ids: Ids.refine((ids) => ids.length > 0, { error: 'Input should name a deployment' }),
});

/** The answer of `DELETE /v2/deployments`: 200 if all exist, 207 if some do not, 404 if none does. */
export const DeploymentsDeleted = z.looseObject({
  deleted: z.array(Uuid),
  failed: z.array(z.looseObject({ deployment_id: Uuid, detail: z.string() })),
});
export type DeploymentsDeleted = z.infer<typeof DeploymentsDeleted>;

/**
 * The header `Idempotency-Key` (IETF draft "The Idempotency-Key HTTP Header Field"; neither the contract nor the
 * public API has it). The draft quotes the key. Decision: an unquoted one, as most clients send it, is accepted as
 * the same key. 1 to 255 characters of printable ASCII; in quotes, `"` and `\` are escaped by a backslash.
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

const QUOTED = /^"(?:[^"\\]|\\["\\])*"$/u;

/** The headers of `POST /v2/deployments`. */
export const DeploymentCreateHeaders = z.object({
  'idempotency-key': IdempotencyKey.optional().describe(
    'The same key with the same body creates once: the second answer is that of the first',
  ),
});

const DEPLOYMENT = '/v2/deployments/{deployment_id}';

/** Deployments: create, read, patch, list, delete. */
export const DEPLOYMENTS_ENDPOINTS = {
  createDeployment: contract.post('/v2/deployments', Deployment, {
    headers: DeploymentCreateHeaders,
    request: DeploymentCreate,
    success: 201,
    errors: [400, 409],
  }),
  getDeployment: contract.get(DEPLOYMENT, Deployment),
  patchDeployment: contract.patch(DEPLOYMENT, Deployment, { request: DeploymentPatch, errors: [400] }),
  listDeployments: publicApi.get('/v2/deployments', DeploymentsList, { query: DeploymentsQuery }),
  deleteDeployment: publicApi.delete(DEPLOYMENT, null, { query: DeploymentDeleteQuery }),
  deleteDeployments: publicApi.delete('/v2/deployments', DeploymentsDeleted, {
    query: DeploymentsDeleteQuery,
    partial: 207,
    errors: [404],
  }),
} as const;
