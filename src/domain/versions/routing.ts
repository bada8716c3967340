/** How Temporal routes the work of a task queue to versions of its workers. */
export interface Routing {
  /** Gets new workflows and those that move between versions; `undefined` if unversioned workers do. */
  readonly current: string | undefined;
  /** Whether a current version was ever set. */
  readonly wasEverCurrent: boolean;
  readonly ramping: { readonly buildId: string; readonly percentage: number } | undefined;
  /** Newest first. */
  readonly versions: readonly RoutedVersion[];
}

/** `inactive`: never got work. `draining`: only pinned releases still run. `drained`: none does. */
export type VersionStatus = 'inactive' | 'current' | 'ramping' | 'draining' | 'drained';

/** One version of the workers. Times are in milliseconds since 1970. */
export interface RoutedVersion {
  readonly buildId: string;
  readonly status: VersionStatus;
  readonly createdAt: number;
  /** When it last stopped being current, or, if Temporal does not report that, getting new work. */
  readonly lastActiveAt: number | undefined;
}

/** The version that last got new work, except the current one; `undefined` if there is none. */
export function previousVersion({ current, versions }: Routing): string | undefined {
  const earlier = versions.filter(
    ({ buildId, lastActiveAt }) => buildId !== current && lastActiveAt !== undefined,
  );
  return earlier.toSorted((one, other) => (other.lastActiveAt ?? 0) - (one.lastActiveAt ?? 0))[0]?.buildId;
}

export function versionsStartingWith({ versions }: Routing, wanted: string): readonly string[] {
  return versions.map(({ buildId }) => buildId).filter((buildId) => buildId.startsWith(wanted));
}
