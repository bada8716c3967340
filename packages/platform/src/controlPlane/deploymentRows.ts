import { randomUUID } from 'node:crypto';

import {
  createsRevision,
  type Deployment,
  type DeploymentCreate,
  type DeploymentPatch,
  type Secret,
} from '@slipway/contract/controlPlane/deployment';
import { withResourceDefaults } from '@slipway/contract/controlPlane/resourceSpec';
import type { Revision } from '@slipway/contract/controlPlane/revision';
import type { SourceConfig, SourceRevisionConfig } from '@slipway/contract/controlPlane/source';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import { pick } from '@slipway/contract/pick';
import type { Kysely, Selectable, Transaction } from 'kysely';

import { type Caller, permits } from '../access/caller.ts';
import { HttpProblem } from '../http/problem.ts';
import type { DeploymentsTable, RevisionsTable, Schema } from '../store/schema.ts';
import type { Sealing } from '../store/sealing.ts';
import { createTracingProject } from '../tracing/tracingStore.ts';
import { findOwned } from './ownedRows.ts';

/**
 * The row of a deployment of the caller's tenant; `forChange` locks it until the transaction ends.
 * @throws HttpProblem 404 if it does not exist or belongs to another tenant; with `forChange`, 400 while it is being
 * deleted.
 */
export async function findDeployment(
  db: Kysely<Schema>,
  caller: Caller,
  id: string,
  options: { forChange?: boolean } = {},
): Promise<Selectable<DeploymentsTable>> {
  const row = await findOwned(db, 'deployments', caller, id, options);
  if (options.forChange === true && row.status === 'AWAITING_DELETE') {
    throw new HttpProblem(400, `Deployment ID ${id} is being deleted.`);
  }
  return row;
}

/** A deployment's row, with the configuration of its newest revision (contract 000, "Deployment", rule 3). */
export type DeploymentWithConfig = Selectable<DeploymentsTable> & {
  readonly latest_revision_config: Record<string, unknown>;
};

/**
 * Deployments of a caller's tenant as the API returns them, in one query. Do not lock it: after a wait for the lock,
 * the joined revision could be outdated. Use {@link latestRevisionConfig} then.
 */
export function selectDeployments(db: Kysely<Schema>, caller: Caller) {
  return db
    .selectFrom('deployments')
    .innerJoin('revisions', 'revisions.id', 'deployments.latest_revision_id')
    .selectAll('deployments')
    .select('revisions.source_revision_config as latest_revision_config')
    .where('deployments.tenant_id', '=', caller.tenantId);
}

/** A revision, with the fields of its deployment that its work needs. */
export type RevisionToWorkOn = Selectable<RevisionsTable> &
  Pick<Selectable<DeploymentsTable>, 'name' | 'tenant_id' | 'secret_references'>;

export function selectRevisionsToWorkOn(db: Kysely<Schema>) {
  return db
    .selectFrom('revisions')
    .innerJoin('deployments', 'deployments.id', 'revisions.deployment_id')
    .selectAll('revisions')
    .select(['deployments.name', 'deployments.tenant_id', 'deployments.secret_references']);
}

/** The configuration of a deployment's newest revision. */
export async function latestRevisionConfig(
  db: Kysely<Schema>,
  row: Selectable<DeploymentsTable>,
): Promise<Record<string, unknown>> {
  if (row.latest_revision_id === null) throw new Error(`Deployment ID ${row.id} has no latest revision.`);
  const latest = await db
    .selectFrom('revisions')
    .select('source_revision_config')
    .where('id', '=', row.latest_revision_id)
    .executeTakeFirstOrThrow();
  return latest.source_revision_config;
}

/**
 * Inserts a deployment, its first revision and its tracing project.
 * @throws Postgres' error of a unique index if the tenant has a deployment or tracing project with that name.
 */
export async function insertDeployment(
  trx: Transaction<Schema>,
  caller: Caller,
  request: DeploymentCreate,
  secrets: StoredSecrets,
  vocabulary: Vocabulary,
): Promise<DeploymentWithConfig> {
  const id = randomUUID();
  const at = new Date();
  const row = await trx
    .insertInto('deployments')
    .values({
      id,
      name: request.name,
      source: request.source,
      tenant_id: caller.tenantId,
      status: 'READY',
      source_config: JSON.stringify(mergeSourceConfig({}, request.source_config)),
      secret_references: request.secret_references == null ? null : JSON.stringify(request.secret_references),
      sealed_secrets: secrets.seal(request.secrets, id),
      image_version: request.image_version ?? null,
      vocabulary,
      created_at: at,
      updated_at: at,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await createTracingProject(trx, { tenantId: caller.tenantId, name: request.name, deploymentId: id });
  return insertRevision(trx, row, mergeRevisionConfig({}, request.source_revision_config), 'create');
}

/** Stores the changes of a PATCH, and inserts a revision if it creates one. */
export async function updateDeployment(
  trx: Transaction<Schema>,
  row: DeploymentWithConfig,
  patch: DeploymentPatch,
  secrets: StoredSecrets,
): Promise<DeploymentWithConfig> {
  const updated = await trx
    .updateTable('deployments')
    .set({
      source_config: JSON.stringify(mergeSourceConfig(row.source_config, patch.source_config)),
      sealed_secrets: patch.secrets == null ? undefined : secrets.seal(patch.secrets, row.id),
      secret_references:
        patch.secret_references == null ? undefined : JSON.stringify(patch.secret_references),
      image_version: patch.image_version ?? undefined,
      updated_at: new Date(),
    })
    .where('id', '=', row.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const before = row.latest_revision_config;
  if (!createsRevision(patch)) return { ...updated, latest_revision_config: before };
  return insertRevision(trx, updated, mergeRevisionConfig(before, patch.source_revision_config), 'patch');
}

/** Inserts a revision with the deployment's current configuration and makes it the latest. */
export async function insertRevision(
  trx: Transaction<Schema>,
  row: Selectable<DeploymentsTable>,
  revisionConfig: Record<string, unknown>,
  requestedBy: 'create' | 'patch' | 'push',
): Promise<DeploymentWithConfig & { readonly latest_revision_id: string }> {
  const id = randomUUID();
  const at = new Date();
  await trx
    .insertInto('revisions')
    .values({
      id,
      deployment_id: row.id,
      status: 'CREATING',
      source: row.source,
      source_config: JSON.stringify(row.source_config),
      source_revision_config: JSON.stringify(revisionConfig),
      sealed_secrets: row.sealed_secrets,
      requested_by: requestedBy,
      created_at: at,
      updated_at: at,
    })
    .execute();
  await trx
    .insertInto('revision_transitions')
    .values({ revision_id: id, from_status: null, to_status: 'CREATING', reason: null, at })
    .execute();
  await trx
    .updateTable('deployments')
    .set({ latest_revision_id: id })
    .where('id', '=', row.id)
    .executeTakeFirstOrThrow();
  return { ...row, latest_revision_id: id, latest_revision_config: revisionConfig };
}

type Stored = Record<string, unknown>;

/**
 * Merges a request's fields into a stored configuration. Absent and null both keep the stored value. An object is
 * replaced whole (contract 000: `resource_spec` "overwrites the existing"), except `listener_config`, whose fields
 * are merged. Defaults are not stored: they are computed when a configuration is returned or applied.
 */
function mergeSourceConfig(stored: Stored, requested: SourceConfig | null | undefined): Stored {
  const { listener_config: listener, ...rest } = requested ?? {};
  if (listener == null) return mergeGiven(stored, rest);
  const before = (stored['listener_config'] ?? {}) as Stored;
  return mergeGiven(stored, { ...rest, listener_config: mergeGiven(before, listener) });
}

/**
 * Like {@link mergeSourceConfig}: a new revision has the latest one's fields, overridden by the request's. Decision:
 * it is built from the commit of `repo_ref` at that time, so `repo_commit_sha` is not carried over.
 */
function mergeRevisionConfig(stored: Stored, requested: SourceRevisionConfig | null | undefined): Stored {
  const { repo_commit_sha: _built, ...inherited } = stored;
  return mergeGiven(inherited, requested ?? {});
}

function mergeGiven(stored: Stored, requested: Stored): Stored {
  const set = Object.entries(requested).filter(([, value]) => value != null);
  return { ...stored, ...Object.fromEntries(set) };
}

/** Seals lists of secrets, each as one value with its deployment's id as context. */
export type StoredSecrets = ReturnType<typeof createStoredSecrets>;

export function createStoredSecrets(sealing: Sealing) {
  return {
    seal: (secrets: readonly Secret[], deploymentId: string): string =>
      sealing.seal(JSON.stringify(secrets), deploymentId),
    /** @throws PlatformError SLIPWAY_MASTER_KEY_WRONG if they were sealed with another key. */
    open: (sealed: string, deploymentId: string): Secret[] =>
      // Authenticated, and sealed by us from a checked list, so it has this shape.
      JSON.parse(sealing.open(sealed, deploymentId)) as Secret[],
  };
}

/**
 * A deployment as the API returns it (contract 000, "Deployment"). `source_revision_config` is that of its latest
 * revision (rule 3). `source_config.custom_url` is the gateway's address of the deployment; for `external_image` a set
 * value takes precedence. `resource_spec` includes its defaults, computed for each answer.
 *
 * A caller that may set secrets sees their values, as in the contract's `Secret`, so that they can be sent back in a
 * PATCH. Decision: a read-only key sees null as the value. No request accepts null, so a caller cannot overwrite a
 * secret with a mask.
 * @param origin The platform's address: `http://host:port`.
 */
export function deploymentView(
  row: DeploymentWithConfig,
  { caller, secrets, origin }: { caller: Caller; secrets: StoredSecrets; origin: string },
): Deployment {
  const { custom_url: set, resource_spec: spec } = row.source_config;
  return {
    ...pick(row, 'id', 'tenant_id', 'name', 'source', 'status', 'image_version'),
    ...pick(row, 'latest_revision_id', 'active_revision_id'),
    source_config: {
      ...row.source_config,
      ...(spec == null ? {} : { resource_spec: withResourceDefaults(spec) }),
      custom_url: typeof set === 'string' ? set : `${origin}/agents/${row.id}`,
    },
    source_revision_config: row.latest_revision_config,
    secrets: secrets
      .open(row.sealed_secrets, row.id)
      .map(({ name, value }) => ({ name, value: permits(caller, 'deploy') ? value : null })),
    secret_references: row.secret_references as Deployment['secret_references'],
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** A revision as the API returns it (contract 000, "Other resources"), with the reason of its status. */
export function revisionView(row: Selectable<RevisionsTable>): Revision {
  return {
    ...pick(row, 'id', 'deployment_id', 'status', 'source', 'source_revision_config'),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    status_message: row.status_reason,
  };
}
