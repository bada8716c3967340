import {
  type Breach,
  changesOf,
  CLOCKS_DIFFER_MS,
  type ObservedRequest,
  type Rule,
  type TargetFacts,
  type WorkFact,
} from './facts.ts';

const SENT_BY = { patch: 'patchDeployment', redeploy: 'redeployRevision' } as const;

/** Rule 1: at most one release changes a target at any time, and it sent every change that arrived. */
export const oneAtATime: Rule = ({ target: { workflowId, works }, requests = [] }) => [
  ...overlaps(works),
  ...requests
    .filter((request) => !works.some((work) => isSentBy(work, request)))
    .map(({ kind, tarballPath, revisionId }) => ({
      workflowId,
      what: `the control plane got a ${kind} of ${tarballPath ?? revisionId ?? 'a git ref or an image'} that no release was sending`,
    })),
];

function overlaps(works: readonly WorkFact[]): Breach[] {
  const spans = works.flatMap(changingSpan).sort((one, other) => one.from - other.from);
  return spans.flatMap(({ workflowId, from }, index) => {
    const before = spans[index - 1];
    if (before === undefined || before.to <= from) return [];
    return { workflowId, what: `it began to change the target while ${before.workflowId} was changing it` };
  });
}

function isSentBy(
  { activities, endedAt }: WorkFact,
  { kind, sentAt, tarballPath, revisionId }: ObservedRequest,
): boolean {
  return activities.some(
    ({ name, input, ...sent }) =>
      name === SENT_BY[kind] &&
      sent.scheduledAt - CLOCKS_DIFFER_MS <= sentAt &&
      sentAt <= (sent.endedAt ?? endedAt ?? Infinity) + CLOCKS_DIFFER_MS &&
      (kind === 'redeploy' ? input['revisionId'] === revisionId : input['objectPath'] === tarballPath),
  );
}

/** From its first changing request to the end of its last; empty if it changes nothing. */
function changingSpan(work: WorkFact) {
  const { workflowId } = work;
  const changes = changesOf(work);
  const to = Math.max(...changes.map((change) => change.endedAt ?? work.endedAt ?? Infinity));
  return changes.slice(0, 1).map(({ scheduledAt: from }) => ({ workflowId, from, to }));
}

/**
 * Rule 1, despite Temporal's own tools and different spellings of a control plane's address: no number is used twice,
 * and no two targets change one deployment alternately. One target may take over from another for good.
 */
export const oneOwner: Rule = ({ target, others = [] }) => [
  ...repeatedNumbers(target.works),
  ...changedAgain(target),
  ...others
    .filter((other) => other.workflowId !== target.workflowId)
    .flatMap((other) => changedByTurns(target, other)),
];

function repeatedNumbers(works: readonly WorkFact[]): Breach[] {
  const numbers = works.map(({ workflowId }) => /-(\d+)$/.exec(workflowId)?.[1] ?? workflowId);
  return works.flatMap(({ workflowId }, index) => {
    const number = numbers[index] ?? '';
    return numbers.indexOf(number) === index
      ? []
      : { workflowId, what: `its number ${number} was given before` };
  });
}

/** The target does not know of a run that a reset began, and does not wait for it. */
function changedAgain({ works, resets }: TargetFacts): Breach[] {
  return resets.flatMap((reset) => {
    const before = works
      .filter(({ workflowId }) => workflowId === reset.workflowId)
      .flatMap(changesOf)
      .filter(({ mayHaveBeenTaken }) => mayHaveBeenTaken);
    const again = changesOf(reset).filter((change) =>
      before.every(({ scheduledAt }) => scheduledAt !== change.scheduledAt),
    );
    if (before.length === 0 || again.length === 0) return [];
    const what = 'it changed the deployment again after a reset in Temporal';
    return { workflowId: reset.workflowId, what };
  });
}

function changedByTurns(target: TargetFacts, other: TargetFacts): Breach[] {
  const own = deploymentChanges(target);
  const theirs = deploymentChanges(other);
  return [...new Set(own.map(({ deploymentId }) => deploymentId))].flatMap((deploymentId) => {
    const times = own.filter((change) => change.deploymentId === deploymentId).map(({ at }) => at);
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const between = theirs.find(
      (change) => change.deploymentId === deploymentId && from < change.at && change.at < to,
    );
    if (between === undefined) return [];
    const what = `it changed the deployment ${deploymentId}, which ${target.workflowId} was changing`;
    return { workflowId: between.workflowId, what };
  });
}

/** When a target changed which deployments. Creating a deployment changes no other target's deployment. */
function deploymentChanges({ works }: TargetFacts) {
  return works.flatMap((work) =>
    changesOf(work).flatMap(({ input: { deploymentId }, scheduledAt: at }) =>
      typeof deploymentId === 'string' ? { workflowId: work.workflowId, deploymentId, at } : [],
    ),
  );
}

/** Rule 1: during a hold, no release is queued, and none of a quarantined artifact, despite Temporal's own tools. */
export const nothingForgotten: Rule = ({ target: { workflowId, said } }) => {
  /** Who set the hold. A rollback that changes nothing releases its own hold, so that hold is not checked. */
  let hold: 'a person' | 'a rollback' | null = null;
  let quarantined: readonly string[] = [];
  const breaches: Breach[] = [];
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
      case 'retired':
        hold = null;
        break;
      case 'quarantine':
        quarantined = [...quarantined, fact.artifact];
        break;
      case 'unquarantine':
        // If the artifact was named differently than before, it may be any of them.
        quarantined = quarantined.includes(fact.artifact)
          ? quarantined.filter((artifact) => artifact !== fact.artifact)
          : [];
        break;
      case 'started afresh':
        hold = null;
        quarantined = [];
        break;
      case 'queued': {
        const wrong = (why: string): unknown =>
          breaches.push({
            workflowId: `${workflowId}/${fact.releaseId}`,
            what: `it was queued although ${why}`,
          });
        if (hold === 'a person' && !fact.overridesHold) wrong('the target was on hold');
        if (quarantined.includes(fact.artifact)) wrong(`${fact.artifact} was in quarantine`);
      }
    }
  }
  return breaches;
};
