import { z } from 'zod';

import { contract, publicApi } from '../endpoint.ts';
import { refuseAll, type ValidationIssue } from '../httpErrors.ts';
import { LIST_MAX, NAME_MAX } from '../limits.ts';
import { DnsLabel, singleLineText, nonEmptyText, oneOf, PageQuery, Timestamp, Uuid } from '../scalars.ts';

/**
 * What a listener deploys to. The contract names only `cluster`, but mentions others. Decision: `docker` is the
 * container engine of the platform's own machine, which also runs deployments without a listener.
 */
const ComputeType = oneOf(['cluster', 'docker']);

/**
 * A listener: deploys to a customer's own compute (contract 000, "Other resources": "fields not shown beyond an
 * identifier and a compute type"). The other fields are those of the public API, under the contract's names.
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

/** The fields of a listener that depend on its compute type (public API): namespaces are only for `cluster`. */
const ListenerComputeConfig = z.object({ cluster_namespaces: z.array(DnsLabel).max(LIST_MAX).nullish() });
type ListenerComputeConfig = z.infer<typeof ListenerComputeConfig>;

/**
 * `POST /v2/listeners` (public API, under the contract's names). `compute_id` is the operator's name of the compute
 * (for example a cluster's name), unique per tenant.
 */
export const ListenerCreate = z
  .object({
    version: nonEmptyText(NAME_MAX).nullish(),
    compute_type: ComputeType,
    compute_id: singleLineText(NAME_MAX),
    compute_config: ListenerComputeConfig,
  })
  .superRefine((request, context) =>
    refuseAll(context, validateComputeConfig(request.compute_config, request.compute_type)),
  );
export type ListenerCreate = z.infer<typeof ListenerCreate>;

/**
 * `PATCH /v2/listeners/{listener_id}` (public API): null and absent both keep a field, `compute_config` is replaced
 * whole. The immutable `compute_type` and `compute_id` are checked, so that a change of them is refused, not ignored.
 */
export const ListenerPatch = z.object({
  version: nonEmptyText(NAME_MAX).nullish(),
  compute_type: z.string().nullish(),
  compute_id: z.string().nullish(),
  compute_config: ListenerComputeConfig.nullish(),
});
export type ListenerPatch = z.infer<typeof ListenerPatch>;

/** `GET /v2/listeners`. The contract shows no shape; as in the public API: newest first, with the next offset. */
export const ListenersList = z.looseObject({ resources: z.array(Listener), offset: z.int() });

/** How a deployment uses its listener (contract 000, "ListenerConfig"). `external_image` only. */
export const ListenerConfig = z.object({ cluster_namespace: DnsLabel.nullish() });
export type ListenerConfig = z.infer<typeof ListenerConfig>;

/**
 * The rules of a {@link ListenerConfig} that need the listener: `cluster_namespace` is only for compute type
 * `cluster`. Decision: if the listener has namespaces, it must be one of them.
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

/** The rules of a PATCH that need the current listener: immutable fields, and namespaces by compute type. */
export function validateListenerPatch(current: Listener, patch: ListenerPatch): ValidationIssue[] {
  const immutable = (['compute_type', 'compute_id'] as const)
    .filter((field) => patch[field] != null && patch[field] !== current[field])
    .map((field) => ({
      loc: ['body', field],
      msg: 'Cannot be changed once the listener is created',
      type: 'immutable',
    }));
  return [...immutable, ...validateComputeConfig(patch.compute_config ?? {}, current.compute_type)];
}

function validateComputeConfig(config: ListenerComputeConfig, computeType: string): ValidationIssue[] {
  const namespaces = config.cluster_namespaces ?? [];
  const loc = ['body', 'compute_config', 'cluster_namespaces'];
  if (namespaces.length > 0 && computeType !== 'cluster') {
    return [{ loc, msg: 'Only for compute type cluster', type: 'not_applicable' }];
  }
  return namespaces.flatMap((namespace, index) =>
    namespaces.indexOf(namespace) === index
      ? []
      : [
          {
            loc: [...loc, index],
            msg: 'The namespace is used by an earlier entry of the list',
            type: 'duplicate',
          },
        ],
  );
}

const LISTENER = '/v2/listeners/{listener_id}';

/** Listeners: list, create, read, patch, delete. */
export const LISTENERS_ENDPOINTS = {
  listListeners: contract.get('/v2/listeners', ListenersList, { query: PageQuery }),
  createListener: publicApi.post('/v2/listeners', Listener, {
    request: ListenerCreate,
    success: 201,
    errors: [409],
  }),
  getListener: publicApi.get(LISTENER, Listener),
  patchListener: publicApi.patch(LISTENER, Listener, { request: ListenerPatch }),
  deleteListener: publicApi.delete(LISTENER, null, { errors: [409] }),
} as const;
