import { withResourceDefaults } from '@slipway/contract/controlPlane/resourceSpec';
import type { Kysely } from 'kysely';

import type { Schema } from '../../store/schema.ts';
import type { Containers } from '../../runtime/docker/containers.ts';
import type { RevisionToWorkOn } from '../deploymentRows.ts';
import type { ImageSource } from './source.ts';

/** Variables for the platform's own processes. An image is third-party code, and may not reach their addresses. */
const PROCESS_ONLY_FIELDS = [
  'SLIPWAY_AGENT_API_KEY',
  'SLIPWAY_AGENT_DATABASE_URL',
  'SLIPWAY_AGENT_TRACING_URL',
];

/**
 * `external_image` and `internal_image` (contract 000, "SourceRevisionConfig": `image_uri`). Decision, because the
 * contract does not define `internal_image`: its image is already on this machine's engine, and is pulled only if
 * missing; that of `external_image` is in a registry.
 */
export function image({
  kysely,
  containers,
  isPulled,
}: {
  kysely: Kysely<Schema>;
  containers: Containers;
  /** Whether to pull the image from a registry. */
  isPulled: boolean;
}): ImageSource {
  return {
    kind: 'image',
    hasSource: ({ source_revision_config: config }) => config['image_uri'] != null,

    deployBlocker: async ({ source_config: config }) => {
      const listenerId = config['listener_id'];
      if (typeof listenerId !== 'string') return undefined;
      const listener = await kysely
        .selectFrom('listeners')
        .select(['compute_type', 'compute_id'])
        .where('id', '=', listenerId)
        .executeTakeFirst();
      if (listener?.compute_type === 'docker') return undefined;
      const whose =
        listener === undefined
          ? `listener ${listenerId}, which is not registered any more`
          : `the listener of ${listener.compute_type} '${listener.compute_id}'`;
      return `The deployment is for ${whose}: this machine does not deploy to it. Create a deployment without listener_id, or with a listener of compute type docker, to run the image here.`;
    },

    logNotes: (revision) => {
      const fields = unappliedFields(revision);
      return fields.length === 0 ? [] : [`Set, and not applied by this platform: ${fields.join(', ')}.`];
    },

    start: (revision, { env, ...limits }) =>
      containers.start({
        deploymentId: revision.deployment_id,
        revisionId: revision.id,
        image: String(revision.source_revision_config['image_uri']),
        isPulled,
        resources: withResourceDefaults(revision.source_config['resource_spec'] ?? {}),
        env: Object.fromEntries(Object.entries(env).filter(([name]) => !PROCESS_ONLY_FIELDS.includes(name))),
        ...limits,
      }),
  };
}

/** The fields of `resource_spec` that apply to a container; the others are for a cluster. */
const APPLIED_RESOURCES = ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb', 'labels'];
/** Fields of the `source_config` that a container engine does not use. */
const UNUSED_FIELDS = ['install_command', 'build_command'];

/** The fields that are set but not applied by a container engine, by their names in contract 000, for a warning. */
function unappliedFields({
  source_config: config,
  secret_references: references,
}: RevisionToWorkOn): string[] {
  const resources = Object.entries((config['resource_spec'] ?? {}) as Record<string, unknown>);
  return [
    ...resources
      .flatMap(([field, value]) =>
        APPLIED_RESOURCES.includes(field) || isEmpty(value) ? [] : [`resource_spec.${field}`],
      )
      .sort(),
    ...UNUSED_FIELDS.filter((field) => !isEmpty(config[field])),
    ...(isEmpty(references) ? [] : ['secret_references']),
  ];
}

function isEmpty(value: unknown): boolean {
  return value == null || (typeof value === 'object' && Object.keys(value).length === 0);
}
