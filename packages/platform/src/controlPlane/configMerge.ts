import type { SourceConfig, SourceRevisionConfig } from '@slipway/contract/controlPlane/source';

type Stored = Record<string, unknown>;

/**
 * A stored configuration with a request's fields laid over it. Absent and null both keep what is there; an object is
 * replaced whole (contract 000: `resource_spec` "overwrites the existing"), but for `listener_config`, whose fields are
 * fields of the configuration themselves. What is stored is what was asked for: defaults are computed where a
 * configuration is answered or applied.
 */
export function mergeSourceConfig(stored: Stored, requested: SourceConfig | null | undefined): Stored {
  const { listener_config: listener, ...rest } = requested ?? {};
  if (listener == null) return overlay(stored, rest);
  const before = (stored['listener_config'] ?? {}) as Stored;
  return overlay(stored, { ...rest, listener_config: overlay(before, listener) });
}

/**
 * Like {@link mergeSourceConfig}: a new revision has what the latest one had, but for what the request sets. Decision: it
 * is built from the commit that `repo_ref` leads to then, so the latest one's `repo_commit_sha` is not carried over.
 */
export function mergeRevisionConfig(
  stored: Stored,
  requested: SourceRevisionConfig | null | undefined,
): Stored {
  const { repo_commit_sha: _built, ...carriedOver } = stored;
  return overlay(carriedOver, requested ?? {});
}

function overlay(stored: Stored, requested: Stored): Stored {
  const set = Object.entries(requested).filter(([, value]) => value != null);
  return { ...stored, ...Object.fromEntries(set) };
}
