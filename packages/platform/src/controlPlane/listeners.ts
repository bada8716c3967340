import { randomUUID } from 'node:crypto';

import type { Deployment } from '@slipway/contract/controlPlane/deployment';
import {
  type Listener,
  type ListenerCreate,
  type ListenerPatch,
  validateListenerConfig,
  validateListenerPatch,
} from '@slipway/contract/controlPlane/listener';
import type { SourceConfig } from '@slipway/contract/controlPlane/source';
import type { Vocabulary } from '@slipway/contract/controlPlane/vocabulary';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import { pick } from '@slipway/contract/pick';
import type { PageQuery } from '@slipway/contract/scalars';
import type { Kysely, Selectable, Transaction } from 'kysely';

import type { Caller } from '../access/caller.ts';
import { HttpProblem, invalid } from '../http/problem.ts';
import type { ListenersTable, Schema } from '../store/schema.ts';
import { findOwned, removeUnused } from './ownedRows.ts';

/** The operations of the listener endpoints, for the caller's tenant. Every problem is an {@link HttpProblem}. */
export type Listeners = ReturnType<typeof createListeners>;

export function createListeners(kysely: Kysely<Schema>) {
  return {
    /**
     * `vocabulary` is stored, see `translateVocabulary`. @throws HttpProblem 409 if the compute id is registered already.
     */
    create: async (caller: Caller, request: ListenerCreate, vocabulary: Vocabulary): Promise<Listener> => {
      const { version, compute_type: type, compute_id: compute, compute_config: config } = request;
      const at = new Date();
      const created = await kysely
        .insertInto('listeners')
        .values({
          id: randomUUID(),
          tenant_id: caller.tenantId,
          version: version ?? null,
          compute_type: type,
          compute_id: compute,
          compute_config: JSON.stringify(config),
          vocabulary,
          created_at: at,
          updated_at: at,
        })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'compute_id']).doNothing())
        .returningAll()
        .executeTakeFirst();
      if (created === undefined)
        throw new HttpProblem(409, `A listener for compute ID '${compute}' already exists.`);
      return listenerView(created);
    },

    /** @throws HttpProblem 404. */
    get: async (caller: Caller, id: string): Promise<Listener> =>
      listenerView(await findOwned(kysely, 'listeners', caller, id)),

    /** Newest first. */
    list: async (caller: Caller, { limit, offset }: PageQuery) => {
      const rows = await kysely
        .selectFrom('listeners')
        .selectAll()
        .where('tenant_id', '=', caller.tenantId)
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(limit)
        .offset(offset)
        .execute();
      return { resources: rows.map(listenerView), offset: offset + rows.length };
    },

    /** @throws HttpProblem 404, 422. */
    patch: async (caller: Caller, id: string, patch: ListenerPatch): Promise<Listener> =>
      kysely.transaction().execute(async (trx) => {
        const current = listenerView(await findOwned(trx, 'listeners', caller, id, { forChange: true }));
        const issues = validateListenerPatch(current, patch);
        if (issues.length > 0) throw invalid(issues);
        const updated = await trx
          .updateTable('listeners')
          .set({
            version: patch.version ?? undefined,
            compute_config: patch.compute_config == null ? undefined : JSON.stringify(patch.compute_config),
            updated_at: new Date(),
          })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        return listenerView(updated);
      }),

    delete: (caller: Caller, id: string): Promise<void> => removeUnused(kysely, 'listeners', caller, id),
  };
}

/** A listener as the API returns it (contract 000, "Other resources", with the fields of the public API). */
function listenerView(row: Selectable<ListenersTable>): Listener {
  return {
    ...pick(row, 'id', 'version', 'compute_type', 'compute_id', 'compute_config'),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/**
 * Validates the listener that a request names, and locks it until the transaction ends (contract 000,
 * "ListenerConfig"). With `current`, the deployment before a PATCH, only changed fields are checked: the listener may
 * have dropped a namespace.
 */
export async function checkListener(
  trx: Transaction<Schema>,
  caller: Caller,
  requested: SourceConfig | null | undefined,
  current?: Deployment,
): Promise<ValidationIssue[]> {
  const before = current?.source_config;
  const id = requested?.listener_id ?? before?.listener_id;
  const namespace = requested?.listener_config?.cluster_namespace;
  const isNew = requested?.listener_id != null && requested.listener_id !== before?.listener_id;
  const isMoved = namespace != null && namespace !== before?.listener_config?.cluster_namespace;
  if (id == null || !(isNew || isMoved)) return [];
  const row = await trx
    .selectFrom('listeners')
    .selectAll()
    .where('id', '=', id)
    .where('tenant_id', '=', caller.tenantId)
    .forShare()
    .executeTakeFirst();
  if (row === undefined) {
    return [
      {
        loc: ['body', 'source_config', 'listener_id'],
        msg: 'Input should be a listener from the listeners endpoint',
        type: 'listener_unknown',
      },
    ];
  }
  return validateListenerConfig(requested?.listener_config ?? {}, listenerView(row));
}
