import { withResourceDefaults } from '../../contract/controlPlane/resourceSpec.ts';
import { type SourceConfig } from '../../contract/controlPlane/sourceConfig.ts';
import { type SourceRevisionConfig } from '../../contract/controlPlane/sourceRevisionConfig.ts';

type Stored = Record<string, unknown>;

/**
 * A stored configuration with a request's fields laid over it. Absent and null both keep what is there; an object is
 * replaced whole (contract 000: `resource_spec` "overwrites the existing"), with the defaults of its table filled in.
 */
export function mergeSourceConfig(stored: Stored, requested: SourceConfig | null | undefined): Stored {
  const { resource_spec: spec, ...rest } = requested ?? {};
  return overlay(stored, { ...rest, resource_spec: spec == null ? null : withResourceDefaults(spec) });
}

/** Like {@link mergeSourceConfig}: a new revision has what the latest one had, but for what the request sets. */
export function mergeRevisionConfig(
  stored: Stored,
  requested: SourceRevisionConfig | null | undefined,
): Stored {
  return overlay(stored, requested ?? {});
}

function overlay(stored: Stored, requested: Stored): Stored {
  const set = Object.entries(requested).filter(([, value]) => value != null);
  return { ...stored, ...Object.fromEntries(set) };
}
