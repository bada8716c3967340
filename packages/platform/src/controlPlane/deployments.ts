import {
  type Deployment,
  type DeploymentCreate,
  type DeploymentPatch,
  type DeploymentsDeleted,
  type DeploymentsQuery,
  validatePatch,
} from '@slipway/contract/controlPlane/deployment';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';

import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { HttpProblem, invalid } from '../http/problem.ts';
import type { DeploymentsTable, Schema } from '../store/schema.ts';
import { deleteTracingProject } from '../tracing/tracingStore.ts';
import {
  deploymentView,
  type DeploymentWithConfig,
  findDeployment,
  insertDeployment,
  latestRevisionConfig,
  selectDeployments,
  type StoredSecrets,
  updateDeployment,
} from './deploymentRows.ts';
import type { Idempotency } from './idempotency.ts';
import { findOwned, notFound } from './ownedRows.ts';
import { checkListener } from './listeners.ts';
import { checkRepository, checkTarball } from './sourceCheck.ts';

/** The operations of the deployment endpoints, for the caller's tenant. Problems: `HttpProblem`. */
export type Deployments = ReturnType<typeof createDeployments>;

/** Makes {@link Deployments}. `changed` is called after each change, with the id of a new deployment. */
export function createDeployments(options: {
  kysely: Kysely<Schema>;
  secrets: StoredSecrets;
  idempotency: Idempotency;
  changed: (created?: string) => void;
}) {
  const { kysely, secrets } = options;

  const view = (caller: Caller, row: DeploymentWithConfig, origin: string): Deployment =>
    deploymentView(row, { caller, secrets, origin });

  const remove = async (
    caller: Caller,
    id: string,
    { deleteTracingProject: withTracingProject }: { deleteTracingProject: boolean },
  ): Promise<void> => {
    await kysely.transaction().execute(async (trx) => {
      await recordAudit(trx, caller, { deployment_id: id });
      if (withTracingProject && (await deleteTracingProject(trx, id, isLeftOf(caller.tenantId)))) return;
      // Locked, because it may be about to be purged.
      await findOwned(trx, 'deployments', caller, id, { forChange: true });
      await trx
        .updateTable('deployments')
        .set({
          status: 'AWAITING_DELETE',
          // An earlier request may have asked for it.
          delete_tracing_project: withTracingProject ? true : undefined,
          updated_at: new Date(),
        })
        .where('id', '=', id)
        .execute();
    });
    options.changed();
  };

  return {
    /**
     * Creates a deployment, its first revision and its tracing project, in one transaction. A deployment of source
     * `internal_source` has nothing to build yet, because uploads need an existing deployment. Decision: its first
     * revision stays in `AWAITING_BUILD` ("It has no source yet."), blocks nothing, and becomes `SKIPPED` when a
     * newer revision is created. `vocabulary` is stored, see `translateVocabulary`. With a `key` it is created once, see
     * `Idempotency`; `replayed`: it existed already.
     * @throws HttpProblem 409 if the tenant has a deployment or tracing project with that name.
     */
    create: async (
      caller: Caller,
      request: DeploymentCreate,
      origin: string,
      vocabulary: Vocabulary,
      key?: string,
    ): Promise<{ deployment: Deployment; replayed: boolean }> => {
      const insert = async (trx: Transaction<Schema>): Promise<Omit<Deployment, 'secrets'>> => {
        const issues = await checkListener(trx, caller, request.source_config);
        issues.push(...(await checkRepository(trx, caller, request.source_config)));
        issues.push(...(await checkTarball(trx, request.source_revision_config)));
        if (issues.length > 0) throw invalid(issues);
        const row = await insertDeployment(trx, caller, request, secrets, vocabulary);
        await recordAudit(trx, caller, idsOf(row));
        const { secrets: _, ...rest } = view(caller, row, origin);
        return rest;
      };
      const keyed = { tenantId: caller.tenantId, key, request };
      const { answer, replayed } = await kysely
        .transaction()
        .execute((trx) => options.idempotency.once(trx, keyed, () => insert(trx)))
        .catch(async (error: unknown) => {
          if (!isNameTaken(error)) throw error;
          const left = await kysely
            .selectFrom('tracing_projects')
            .select('deployment_id')
            .where(isLeftOf(caller.tenantId))
            .where('name', '=', request.name)
            .executeTakeFirst();
          const remedy =
            left === undefined
              ? ''
              : ` It belonged to a deleted deployment: DELETE /v2/deployments/${left.deployment_id}?delete_tracing_project=true removes it.`;
          const detail = `A tracing project or deployment named '${request.name}' already exists.${remedy}`;
          throw new HttpProblem(409, detail);
        });
      const deployment = { ...answer, secrets: request.secrets } as Deployment;
      if (!replayed) options.changed(deployment.id);
      return { deployment, replayed };
    },

    /** @throws HttpProblem 404. */
    get: async (caller: Caller, id: string, origin: string): Promise<Deployment> => {
      const found = await selectDeployments(kysely, caller)
        .where('deployments.id', '=', id)
        .executeTakeFirst();
      if (found === undefined) throw notFound('deployments', id);
      return view(caller, found, origin);
    },

    /** Newest first. */
    list: async (caller: Caller, query: DeploymentsQuery, origin: string) => {
      let select = selectDeployments(kysely, caller)
        .orderBy('deployments.created_at', 'desc')
        .orderBy('deployments.id')
        .limit(query.limit)
        .offset(query.offset);
      if (query.name_contains) {
        select = select.where(
          sql<boolean>`strpos(lower(deployments.name), lower(${query.name_contains})) > 0`,
        );
      }
      if (query.status) select = select.where('deployments.status', '=', query.status);
      if (query.image_version) {
        select = select.where('deployments.image_version', '=', query.image_version);
      }
      if (query.deployment_type !== undefined) {
        const type = sql<string>`deployments.source_config ->> 'deployment_type'`;
        select = select.where(type, '=', query.deployment_type);
      }
      if ((query.deployment_ids ?? []).length > 0) {
        select = select.where('deployments.id', '=', sql<string>`any(${query.deployment_ids})`);
      }
      // See `DeploymentsQuery`: everything is reconciled here, and nothing has a tag.
      if (query.remote_reconciled === false || query.tag_value_ids)
        select = select.where(sql<boolean>`false`);
      const rows = await select.execute();
      const resources = rows.map((row) => view(caller, row, origin));
      return { resources, offset: query.offset + resources.length };
    },

    /**
     * Updates a deployment, and creates a revision if and only if one of the six revision-creating fields is set, in
     * one transaction. Absent fields are carried over from the latest revision, secrets from the deployment. After a
     * rollback too, the latest revision is the newest one, not the active one.
     * @throws HttpProblem 404, 422, 400 while it is being deleted.
     */
    patch: async (
      caller: Caller,
      id: string,
      patch: DeploymentPatch,
      origin: string,
    ): Promise<Deployment> => {
      const patched = await kysely.transaction().execute(async (trx) => {
        const found = await findDeployment(trx, caller, id, { forChange: true });
        const row = { ...found, latest_revision_config: await latestRevisionConfig(trx, found) };
        const current = view(caller, row, origin);
        const issues = validatePatch(current, patch);
        issues.push(...(await checkListener(trx, caller, patch.source_config, current)));
        if (issues.length === 0) issues.push(...(await checkTarball(trx, patch.source_revision_config, id)));
        if (issues.length > 0) throw invalid(issues);
        const updated = await updateDeployment(trx, row, withoutAddress(patch, current), secrets);
        await recordAudit(trx, caller, idsOf(updated));
        return view(caller, updated, origin);
      });
      options.changed();
      return patched;
    },

    /**
     * Marks a deployment for deletion: `AWAITING_DELETE` until its agent is drained. Its tracing project stays, and with it
     * the name, unless one of the requests deletes it too.
     * @throws HttpProblem 404.
     */
    delete: remove,

    /**
     * Marks several deployments for deletion, each independently of the others.
     * @throws HttpProblem 404 if none of them exists.
     */
    deleteAll: async (caller: Caller, ids: readonly string[]): Promise<DeploymentsDeleted> => {
      const deleted: string[] = [];
      const failed: DeploymentsDeleted['failed'] = [];
      for (const id of new Set(ids)) {
        try {
          await remove(caller, id, { deleteTracingProject: false });
          deleted.push(id);
        } catch (error) {
          if (!(error instanceof HttpProblem)) throw error;
          failed.push({ deployment_id: id, detail: error.message });
        }
      }
      const [first] = failed;
      if (deleted.length === 0 && first !== undefined) throw notFound('deployments', first.deployment_id);
      return { deleted, failed };
    },

    /** Deletes the rows of a deployment that is marked for deletion. */
    purge: async (id: string): Promise<void> => {
      await kysely.transaction().execute(async (trx) => {
        const rows = trx.selectFrom('deployments').selectAll().where('id', '=', id);
        const row = await rows.forUpdate().executeTakeFirst();
        if (row?.delete_tracing_project === true) await deleteTracingProject(trx, id);
        await trx
          .deleteFrom('deployments')
          .where('id', '=', id)
          .where('status', '=', 'AWAITING_DELETE')
          .execute();
      });
    },
  };
}

/** Drops an answer's `custom_url` that was sent back: stored, it would outlive a move of the platform. */
function withoutAddress(patch: DeploymentPatch, current: Deployment): DeploymentPatch {
  const { source_config: config } = patch;
  if (config?.custom_url == null || config.custom_url !== current.source_config.custom_url) return patch;
  return { ...patch, source_config: { ...config, custom_url: null } };
}

function idsOf(row: Selectable<DeploymentsTable>): Record<string, string> {
  return {
    deployment_id: row.id,
    ...(row.latest_revision_id !== null && { revision_id: row.latest_revision_id }),
  };
}

/** Whether a tracing project is a tenant's, and its deployment was deleted. */
function isLeftOf(tenantId: string) {
  return sql<boolean>`tenant_id = ${tenantId} and deployment_id is not null
    and not exists (select 1 from deployments where deployments.id = tracing_projects.deployment_id)`;
}

function isNameTaken(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === '23505';
}
