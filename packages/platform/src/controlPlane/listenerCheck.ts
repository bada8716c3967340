import type { Transaction } from 'kysely';

import type { Deployment } from '@slipway/contract/controlPlane/deployment';
import { validateListenerConfig } from '@slipway/contract/controlPlane/listener';
import type { SourceConfig } from '@slipway/contract/controlPlane/source';
import type { ValidationIssue } from '@slipway/contract/httpErrors';
import type { Caller } from '../access/caller.ts';
import type { Schema } from '../store/schema.ts';
import { listenerView } from './listeners.ts';

/**
 * What is wrong with the listener that a request names, and with its configuration for it (contract 000,
 * "ListenerConfig": "validated according to the compute type of the listener"). The listener stays for as long as the
 * transaction goes on. With `current`, the deployment that is patched, only what the request changes is looked at: a
 * namespace that a listener has given up since is no reason to refuse what has nothing to do with it.
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
