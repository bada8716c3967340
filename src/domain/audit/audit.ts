import { revisionPhase } from '../deployment/revision.ts';
import { promotionOf } from '../promotion/promotion.ts';
import type { ReleaseRequest, ReleaseResult } from '../release/release.ts';
import { alwaysRestores, leavesWhatServed, ownChecks } from './restoring.ts';
import {
  type Breach,
  type Evidence,
  named,
  perWork,
  type PromotionFact,
  revisionOf,
  type Rule,
  type SubmissionFact,
  type Violation,
  type WorkFact,
} from './facts.ts';
import { guarded } from './guarded.ts';
import { nothingForgotten, oneAtATime, oneOwner } from './oneAtATime.ts';
import { oneRevision, ownRevision, servedWhenChecked } from './revisions.ts';
import { watched } from './watched.ts';

/** Checks all evidence about a target against Slipway's safety rules, and returns the violations. */
export function audit(evidence: Evidence): readonly Violation[] {
  return RULES.flatMap(([rule, find]) => find(evidence).map((breach) => ({ rule, ...breach })));
}

/** Shorter secrets occur in many texts by chance. */
const SECRET_MIN_CHARACTERS = 6;

/** Rule 7: no secret value ever enters a history. */
const noSecrets: Rule = ({ target, secrets }) => {
  const long = secrets.filter((secret) => secret.length >= SECRET_MIN_CHARACTERS);
  return target.texts
    .filter(({ text }) => long.some((secret) => text.includes(secret)))
    .map(({ workflowId }) => ({ workflowId, what: 'its history holds the value of a secret' }));
};

/** Rule 8: a revision that was not deployed, or whose status is unknown, is no success. */
const deployedOnly = perWork(({ kind, activities, result }) => {
  if (kind !== 'release' || result?.outcome !== 'released') return [];
  const isDeployed = named(activities, 'awaitDeployed').some((awaited) => {
    const revision = awaited.result?.['revision'] as { readonly status?: string } | undefined;
    return (
      awaited.outcome === 'completed' &&
      revisionOf(awaited) === result.revisionId &&
      revisionPhase(revision?.status ?? '') === 'deployed'
    );
  });
  return isDeployed
    ? []
    : [`it ended released, and revision ${result.revisionId ?? ''} was never seen DEPLOYED`];
});

/** Rule 9: no message blocks a workflow, and each workflow ends with a result. */
const neverWedged: Rule = ({ target }) => [
  ...target.taskFailures
    .filter(({ isLast }) => !isLast)
    .map(({ workflowId, message }) => ({ workflowId, what: `a workflow task failed: ${message}` })),
  ...target.works
    .filter(({ ended, result }) => result === null && (ended === 'failed' || ended === 'completed'))
    .map(({ workflowId }) => ({ workflowId, what: 'it ended without a result' })),
];

/** Rule 10: every history replays. A history that does not stops its workflow for good. */
const neverStuck: Rule = ({ target }) =>
  target.taskFailures
    .filter(({ isLast }) => isLast)
    .map(({ workflowId, message }) => ({
      workflowId,
      what: `workers cannot continue it: its last workflow task failed: ${message}`,
    }));

/** Rule 12: no submission that was refused is released; a promotion reports what its release did. */
export const claimsAreTrue: Rule = ({ target: { workflowId, works, submissions, promotions } }) => [
  ...submissions.flatMap((submission) => releasedAllTheSame(workflowId, submission, submissions, works)),
  ...promotions.flatMap((promotion) =>
    deniedRelease(promotion, submissions, works).map((what) => ({ workflowId: promotion.workflowId, what })),
  ),
];

function releasedAllTheSame(
  targetId: string,
  { id, answer, withdrawnAt }: SubmissionFact,
  submissions: readonly SubmissionFact[],
  works: readonly WorkFact[],
): Breach[] {
  const workflowId = `${targetId}/${answer?.releaseId ?? ''}`;
  const work = works.find((other) => other.workflowId === workflowId);
  if (answer === null || work === undefined) return [];
  if (answer.disposition === 'rejected')
    return [{ workflowId, what: `it ran although submission ${id} was rejected` }];
  const stands = submissions.some(
    (other) => other.answer?.releaseId === answer.releaseId && other.withdrawnAt === null,
  );
  if (withdrawnAt === null || stands || answer.disposition !== 'queued') return [];
  if (withdrawnAt >= work.startedAt || work.result?.outcome !== 'released') return [];
  const what = `it was released although submission ${id} had been withdrawn before it began`;
  return [{ workflowId, what }];
}

function deniedRelease(
  { originalRunId, submissions: asked, result }: PromotionFact,
  submissions: readonly SubmissionFact[],
  works: readonly WorkFact[],
): string[] {
  // A run that a reset began later may have submitted it.
  const isOfLaterRun = (id: string): boolean => id.startsWith(`${asked[0] ?? ''} `) && !asked.includes(id);
  const isOwn = (workflowId: string): boolean => {
    const all = submissions.filter(({ answer }) => workflowId.endsWith(`/${answer?.releaseId ?? ''}`));
    return all.length === 0 || !all.every(({ id }) => isOfLaterRun(id));
  };
  const own = works.find(
    ({ workflowId, kind, request }) =>
      kind === 'release' &&
      promotionOf(request as ReleaseRequest)?.runId === originalRunId &&
      isOwn(workflowId),
  );
  if (result === null || own === undefined) return [];
  if (result.releaseId === null) return [`it names no release, and ${own.workflowId} ran`];
  const denies = result.outcome === 'aborted' || result.outcome === 'failed';
  // A rollback that stops a later release, or finds one that restores, is carried out by that release.
  const isRolledBack = works.some(
    ({ startedAt, kind, result: later }) =>
      startedAt > own.startedAt &&
      (kind === 'rollback' || later?.preemptedBy != null || hasLeft(later, own.result)),
  );
  if (!denies || own.result?.outcome !== 'released' || isRolledBack) return [];
  return [`it ended ${result.outcome}, and what ${own.workflowId} released was not rolled back`];
}

/** Whether a later release ended without being released, and left another revision in place. */
function hasLeft(later: ReleaseResult | null, own: ReleaseResult | null): boolean {
  if (later === null || later.outcome === 'released' || later.servingRevisionId === null) return false;
  return later.servingRevisionId !== own?.servingRevisionId;
}

/** Rules 1 to 10, 12 and 14 of the design. */
const RULES: readonly (readonly [Violation['rule'], Rule])[] = [
  [1, oneAtATime],
  [1, oneOwner],
  [1, nothingForgotten],
  [2, oneRevision],
  [3, ownRevision],
  [4, servedWhenChecked],
  [5, alwaysRestores],
  [5, ownChecks],
  [5, leavesWhatServed],
  [6, watched],
  [7, noSecrets],
  [8, deployedOnly],
  [9, neverWedged],
  [10, neverStuck],
  [12, claimsAreTrue],
  [14, guarded],
];
