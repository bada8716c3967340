import type { SourceConfiguration } from './source.ts';

/** Of the `resource_spec`, what a container is given; all else is for a cluster. */
const APPLIED_RESOURCES = ['cpu', 'cpu_limit', 'memory_mb', 'memory_limit_mb', 'labels'];
/** Fields of the `source_config` that a container engine has no use for. */
const OF_OTHERS = ['install_command', 'build_command'];

/**
 * The fields of an image's deployment that were set and that a container engine does not apply, by their names in
 * contract 000: what runs is not all that was asked for, and whoever asked should know. Null, and an empty list or
 * object, ask for nothing.
 */
export function unappliedFields(revision: SourceConfiguration, secretReferences: unknown): string[] {
  const config = revision.source_config;
  const resources = Object.entries((config['resource_spec'] ?? {}) as Record<string, unknown>);
  return [
    ...resources
      .flatMap(([field, value]) =>
        APPLIED_RESOURCES.includes(field) || isNothing(value) ? [] : [`resource_spec.${field}`],
      )
      .sort(),
    ...OF_OTHERS.filter((field) => !isNothing(config[field])),
    ...(isNothing(secretReferences) ? [] : ['secret_references']),
  ];
}

function isNothing(value: unknown): boolean {
  return value == null || (typeof value === 'object' && Object.keys(value).length === 0);
}
