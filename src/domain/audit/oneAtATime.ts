import type { ActivityFact, ObservedRequest, Rule, TargetFacts, Violation, WorkFact } from './facts.ts';

const SENT_BY = { patch: 'patchDeployment', redeploy: 'redeployRevision' } as const;
/** Histories and the control plane are timed by clocks of their own, in milliseconds. */
const CLOCKS_DIFFER_MS = 1_000;

/**
 * Rule 1: at most one release is changing a target at any time. What the control plane saw says the same: whatever
 * changed the target was sent by just the release that was at it.
 */
export const oneAtATime: Rule = ({ target, requests }) => [
  ...overlaps(target.works),
  ...(requests ?? []).flatMap((request) => sentByNobody(target.workflowId, target.works, request)),
];

function overlaps(works: readonly WorkFact[]): Violation[] {
  const spans = works.flatMap((work) => changing(work) ?? []).sort((one, other) => one.from - other.from);
  return spans.flatMap((span, index) => {
    const before = spans[index - 1];
    if (before === undefined || before.to <= span.from) return [];
    const what = `it began to change the target while ${before.workflowId} was changing it`;
    return [{ rule: 1 as const, workflowId: span.workflowId, what }];
  });
}

function sentByNobody(
  workflowId: string,
  works: readonly WorkFact[],
  { kind, sentAt, tarballPath, revisionId }: ObservedRequest,
): Violation[] {
  const isSentBy = ({ activities, endedAt }: WorkFact): boolean =>
    activities.some(
      (activity) =>
        activity.name === SENT_BY[kind] &&
        activity.scheduledAt - CLOCKS_DIFFER_MS <= sentAt &&
        sentAt <= (activity.endedAt ?? endedAt ?? Infinity) + CLOCKS_DIFFER_MS &&
        (kind === 'redeploy'
          ? activity.input['revisionId'] === revisionId
          : activity.input['objectPath'] === tarballPath),
    );
  if (works.some(isSentBy)) return [];
  const what = `the control plane got a ${kind} of ${tarballPath ?? revisionId ?? 'a git ref or an image'} that no release was sending`;
  return [{ rule: 1, workflowId, what }];
}

/** From its first request that changes something to the end of its last one. */
function changing({
  workflowId,
  activities,
  endedAt,
}: WorkFact): { readonly workflowId: string; readonly from: number; readonly to: number } | undefined {
  const changes = activities.filter(isChange);
  const [first] = changes;
  if (first === undefined) return undefined;
  const to = Math.max(...changes.map((change) => change.endedAt ?? endedAt ?? Infinity));
  return { workflowId, from: first.scheduledAt, to };
}

const CHANGES = new Set(['createDeployment', 'patchDeployment', 'redeployRevision']);

/** Whether an activity changes a deployment. */
function isChange({ name }: ActivityFact): boolean {
  return CHANGES.has(name);
}

/** A change of a deployment that is known. */
interface Change {
  readonly workflowId: string;
  readonly deploymentId: string;
  /** When it was scheduled, in milliseconds since 1970. */
  readonly at: number;
}

/** What a release or a rollback changed, and where. To create a deployment changes nothing of another target's. */
function changesOf({ workflowId, activities }: WorkFact): Change[] {
  return activities.filter(isChange).flatMap(({ input, scheduledAt: at }) => {
    const { deploymentId } = input;
    return typeof deploymentId === 'string' ? [{ workflowId, deploymentId, at }] : [];
  });
}

/**
 * Rule 1, whatever Temporal's own tools did to the target and however its control plane is spelled: no number is given
 * twice over all runs of a target, and no two targets change one deployment by turns. One that takes over from another
 * for good is none of these.
 */
export const oneOwner: Rule = ({ target, others }) => [
  ...repeatedNumbers(target.works),
  ...(others ?? []).flatMap((other) => changedByTurns(target, other)),
];

function repeatedNumbers(works: readonly WorkFact[]): Violation[] {
  const given = new Set<string>();
  return works.flatMap(({ workflowId }) => {
    const number = /-(\d+)$/.exec(workflowId)?.[1] ?? workflowId;
    const isRepeated = given.has(number);
    given.add(number);
    return isRepeated
      ? [{ rule: 1 as const, workflowId, what: `its number ${number} was given before` }]
      : [];
  });
}

function changedByTurns(target: TargetFacts, other: TargetFacts): Violation[] {
  const own = target.works.flatMap(changesOf);
  return [...new Set(own.map(({ deploymentId }) => deploymentId))].flatMap((deploymentId) => {
    const times = own.filter((change) => change.deploymentId === deploymentId).map(({ at }) => at);
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const between = (change: Change): boolean =>
      change.deploymentId === deploymentId && from < change.at && change.at < to;
    const found = other.works.flatMap(changesOf).find(between);
    if (found === undefined) return [];
    const what = `it changed the deployment ${deploymentId}, which ${target.workflowId} was changing`;
    return [{ rule: 1 as const, workflowId: found.workflowId, what }];
  });
}

/**
 * Rule 1: a target forgets neither its hold nor its quarantine, whatever Temporal's own tools did to its runs. It queues no
 * release on hold, and none of an artifact in quarantine.
 */
export const nothingForgotten: Rule = ({ target: { workflowId, said } }) => {
  /** Who set the hold. That of a rollback ends with the rollback where it changes nothing: it is not followed up. */
  let hold: 'a person' | 'a rollback' | null = null;
  let quarantined: readonly string[] = [];
  const violations: Violation[] = [];
  for (const fact of said) {
    switch (fact.kind) {
      case 'hold':
        hold = 'a person';
        break;
      case 'rollback':
        hold ??= 'a rollback';
        break;
      case 'rollback refused':
        break;
      case 'unhold':
        hold = null;
        break;
      case 'quarantine':
        quarantined = [...quarantined, fact.artifact];
        break;
      case 'unquarantine':
        // An artifact that was named otherwise than before may be any of them.
        quarantined = quarantined.includes(fact.artifact)
          ? quarantined.filter((artifact) => artifact !== fact.artifact)
          : [];
        break;
      case 'started afresh':
        hold = null;
        quarantined = [];
        break;
      case 'queued': {
        const release = `${workflowId}/${fact.releaseId}`;
        if (hold === 'a person' && !fact.overridesHold) {
          const what = 'it was queued although the target was on hold';
          violations.push({ rule: 1, workflowId: release, what });
        }
        if (quarantined.includes(fact.artifact)) {
          const what = `it was queued although ${fact.artifact} was in quarantine`;
          violations.push({ rule: 1, workflowId: release, what });
        }
      }
    }
  }
  return violations;
};
