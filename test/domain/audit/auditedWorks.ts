import { audit } from '../../../src/domain/audit/audit.ts';
import type { ActivityFact, TargetFacts, WorkFact } from '../../../src/domain/audit/facts.ts';
import type { ReleaseResult } from '../../../src/domain/release/release.ts';
import { verified } from '../target/targets.ts';
import { activity, targetFacts, workFact } from './activityFact.ts';

export const PATH = 'uploads/ours';

/** The numbers of the rules that are broken. */
export function broken(facts: TargetFacts): number[] {
  return audit({ target: facts, observed: null, secrets: [] }).map(({ rule }) => rule);
}

export function target(works: WorkFact[]): TargetFacts {
  return targetFacts({ works });
}

/** How a history differs from a correct one. `insert`: before the activity at an index. */
interface Changes {
  readonly workflowId?: string;
  readonly shift?: number;
  readonly insert?: readonly [number, ...ActivityFact[]];
  readonly replace?: readonly [number, ActivityFact];
  readonly remove?: number;
  /** Removes the activity at an index and all after it. */
  readonly cut?: number;
  readonly result?: Partial<ReleaseResult>;
}

export function released(changes: Changes = {}): WorkFact {
  const serving = activity('confirmServing', { revisionId: 'new' }, 6);
  const check = activity('runCheck', { revisionId: 'new' }, 7);
  return work(changes, {}, [...SHIPPED, awaited('new', 5), serving, check]);
}

export function putBack(changes: Changes = {}): WorkFact {
  const ending = {
    outcome: 'rolled_back',
    code: 'SLIPWAY_CHECK_FAILED',
    servingRevisionId: 'old',
    baseline: { revisionId: 'old', verified: true },
  } as const;
  return work(changes, ending, [
    ...SHIPPED,
    awaited('new', 5),
    activity('confirmServing', { revisionId: 'new' }, 6),
    activity('runCheck', { revisionId: 'new' }, 7),
    redeploy('old', 8),
    awaited('old', 11),
    activity('confirmServing', { revisionId: 'old' }, 12),
    activity('runCheck', { revisionId: 'old' }, 13),
  ]);
}

export function work(
  changes: Changes,
  ending: Partial<ReleaseResult>,
  steps: readonly ActivityFact[],
): WorkFact {
  const { workflowId = 't/release-1', shift = 0, insert, replace, remove, cut } = changes;
  const activities = steps.slice(0, cut);
  if (replace !== undefined) activities[replace[0]] = replace[1];
  if (remove !== undefined) activities.splice(remove, 1);
  if (insert !== undefined) activities.splice(insert[0], 0, ...(insert.slice(1) as ActivityFact[]));
  const shifted = activities.map((fact) => ({
    ...fact,
    scheduledAt: fact.scheduledAt + shift,
    endedAt: (fact.endedAt ?? 0) + shift,
  }));
  const facts = { workflowId, startedAt: shift, known: [verified('old')], activities: shifted };
  const endedAt = new Date(90).toISOString();
  return workFact('release-1', facts, { revisionId: 'new', endedAt, ...ending, ...changes.result });
}

const SHIPPED = [
  activity('findDeployment', {}, 0),
  activity('runCheck', { revisionId: 'old' }, 1),
  activity('uploadArtifact', {}, 1.5),
  patch(3),
];

export function patch(at: number): ActivityFact {
  return activity('patchDeployment', { objectPath: PATH }, at, { deployment: { latestRevisionId: 'new' } });
}

export function redeploy(revisionId: string, at: number): ActivityFact {
  return activity('redeployRevision', { revisionId }, at);
}

export function awaited(revisionId: string, at: number, status = 'DEPLOYED'): ActivityFact {
  return activity('awaitDeployed', { revisionId }, at, { revision: { revisionId, status } });
}

export function unanswered(fact: ActivityFact): ActivityFact {
  return { ...fact, outcome: 'failed', result: null, mayHaveBeenTaken: true };
}
