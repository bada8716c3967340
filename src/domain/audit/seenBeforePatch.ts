import type { ActivityFact, WorkFact } from './facts.ts';

/** What a release had seen of its deployment before its first PATCH: none of it is what the PATCH made. */
export function seenBeforePatch({ known, activities }: WorkFact): {
  readonly ids: ReadonlySet<string>;
  /** The latest revision; `undefined`: it had not looked. */
  readonly latest: string | null | undefined;
} {
  const first = activities.findIndex(({ name }) => name === 'patchDeployment');
  const before = first === -1 ? [] : activities.slice(0, first);
  const deployments = before.flatMap(({ result }) => deploymentIn(result) ?? []);
  const seen = deployments.flatMap(({ latestRevisionId, activeRevisionId }) => [
    latestRevisionId,
    activeRevisionId,
  ]);
  return {
    ids: new Set([...known.map(({ revisionId }) => revisionId), ...seen.flatMap((id) => id ?? [])]),
    latest: deployments.length === 0 ? undefined : (deployments.at(-1)?.latestRevisionId ?? null),
  };
}

/** The latest revision of the deployment that an activity came to; `undefined`: it came to none. */
export function latestIn(result: ActivityFact['result']): string | null | undefined {
  const deployment = deploymentIn(result);
  return deployment === undefined ? undefined : (deployment.latestRevisionId ?? null);
}

/** The active revision of the deployment that an activity came to; `undefined`: it came to none. */
export function activeIn({ result }: ActivityFact): string | null | undefined {
  return deploymentIn(result)?.activeRevisionId;
}

function deploymentIn(result: ActivityFact['result']): Seen | undefined {
  return (result?.['deployment'] as Seen | null | undefined) ?? undefined;
}

interface Seen {
  readonly latestRevisionId?: string | null;
  readonly activeRevisionId?: string | null;
}
