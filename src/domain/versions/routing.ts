/** Where Temporal sends the work of a task queue, by the versions of its workers. */
export interface Routing {
  /** Takes new workflows and those that change versions; `undefined`: unversioned workers do. */
  readonly current: string | undefined;
  /** Whether a person or a worker has ever set what is current. */
  readonly wasEverCurrent: boolean;
  readonly ramping: { readonly buildId: string; readonly percentage: number } | undefined;
  /** Newest first. */
  readonly versions: readonly RoutedVersion[];
}

/**
 * What a version is for. `inactive`: it has never been given work. `draining`: it takes nothing new, and releases that are
 * pinned to it still run. `drained`: none does.
 */
export type VersionStatus = 'inactive' | 'current' | 'ramping' | 'draining' | 'drained';

/** One version of the workers; times are in milliseconds since the epoch. */
export interface RoutedVersion {
  readonly buildId: string;
  readonly status: VersionStatus;
  readonly createdAt: number;
  /** When it last stopped being current, or, if Temporal does not report that, taking new work; `undefined`: never. */
  readonly lastActiveAt: number | undefined;
}

/** The version that took new work last, beside the current one; `undefined` if none did. */
export function previousVersion({ current, versions }: Routing): string | undefined {
  const earlier = versions.filter(
    ({ buildId, lastActiveAt }) => buildId !== current && lastActiveAt !== undefined,
  );
  return earlier.toSorted((one, other) => (other.lastActiveAt ?? 0) - (one.lastActiveAt ?? 0))[0]?.buildId;
}

/** The versions that a person means by the first characters of a build id. */
export function versionsStartingWith({ versions }: Routing, wanted: string): readonly string[] {
  return versions.map(({ buildId }) => buildId).filter((buildId) => buildId.startsWith(wanted));
}
