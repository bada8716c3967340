import { z } from 'zod';

import { type ValidationIssue } from '../httpErrors.ts';
import { DnsLabel, Timestamp, Uuid } from '../scalars.ts';

/**
 * A listener: what deploys to somebody's own compute (contract 000, "Other resources": "fields not shown beyond an
 * identifier and a compute type"). The other fields are those of the public relative, with the contract's words.
 */
export const Listener = z.looseObject({
  id: Uuid,
  compute_type: z.string(),
  compute_id: z.string().nullish(),
  compute_config: z.looseObject({ cluster_namespaces: z.array(z.string()).nullish() }).nullish(),
  version: z.string().nullish(),
  created_at: Timestamp.nullish(),
  updated_at: Timestamp.nullish(),
});
export type Listener = z.infer<typeof Listener>;

/** `GET /v2/listeners`. The contract shows no shape; the public relative's: newest first, with the next offset. */
export const ListenersList = z.looseObject({ resources: z.array(Listener), offset: z.int() });
export type ListenersList = z.infer<typeof ListenersList>;

/** How a deployment uses its listener (contract 000, "ListenerConfig"). `external_image` only. */
export const ListenerConfig = z.object({ cluster_namespace: DnsLabel.nullish() });
export type ListenerConfig = z.infer<typeof ListenerConfig>;

/**
 * The rules of a {@link ListenerConfig} that need the listener itself: `cluster_namespace` is only for compute type
 * `cluster`. Decision: it must be one of the listener's namespaces where the listener names any.
 */
export function validateListenerConfig(config: ListenerConfig, listener: Listener): ValidationIssue[] {
  const namespace = config.cluster_namespace;
  if (namespace == null) return [];
  const loc = ['body', 'source_config', 'listener_config', 'cluster_namespace'];
  if (listener.compute_type !== 'cluster') {
    return [{ loc, msg: 'Only for listeners with compute type cluster', type: 'not_applicable' }];
  }
  const known = listener.compute_config?.cluster_namespaces;
  if (known == null || known.length === 0 || known.includes(namespace)) return [];
  return [{ loc, msg: 'The listener is not configured for this namespace', type: 'namespace_unknown' }];
}
