import { revisionPhase } from '../deployment/revision.ts';
import { promotionOf } from '../promotion/promotion.ts';
import type { ReleaseRequest } from '../release/release.ts';
import { alwaysRestores, leavesWhatServed, ownChecks } from './restoring.ts';
import type { Evidence, PromotionFact, Rule, SubmissionFact, Violation, WorkFact } from './facts.ts';
import { nothingForgotten, oneAtATime, oneOwner } from './oneAtATime.ts';
import { oneRevision, ownRevision, servedWhenChecked } from './revisions.ts';
import { watched } from './watched.ts';

/** Checks everything that is known of a target against Slipway's safety rules, and returns what was broken. */
export function audit(evidence: Evidence): readonly Violation[] {
  return RULES.flatMap((rule) => rule(evidence));
}

/** Shorter ones stand in many texts by chance. */
const SECRET_MIN_CHARACTERS = 6;

/** Rule 7: no secret value ever enters a history. */
const noSecrets: Rule = ({ target, secrets }) =>
  target.texts
    .filter(({ text }) =>
      secrets.some((secret) => secret.length >= SECRET_MIN_CHARACTERS && text.includes(secret)),
    )
    .map(({ workflowId }) => ({ rule: 7, workflowId, what: 'its history holds the value of a secret' }));

/** Rule 8: a revision that did not come up, or whose status nobody knows, is no success. */
const deployedOnly: Rule = ({ target }) =>
  target.works.flatMap(({ workflowId, kind, activities, result }) => {
    if (kind !== 'release' || result?.outcome !== 'released') return [];
    const deployed = activities.some(({ name, outcome, input, result: awaited }) => {
      if (name !== 'awaitDeployed' || outcome !== 'completed') return false;
      const revision = awaited?.['revision'] as { readonly status?: string } | undefined;
      return (
        input['revisionId'] === result.revisionId && revisionPhase(revision?.status ?? '') === 'deployed'
      );
    });
    if (deployed) return [];
    const what = `it ended released, and revision ${result.revisionId ?? ''} was never seen DEPLOYED`;
    return [{ rule: 8, workflowId, what }];
  });

/** Rule 9: nothing that is said to a workflow wedges it, and each ends with a result. */
const neverWedged: Rule = ({ target }) => [
  ...target.taskFailures
    .filter(({ isLast }) => !isLast)
    .map(({ workflowId, message }) => ({
      rule: 9 as const,
      workflowId,
      what: `a workflow task failed: ${message}`,
    })),
  ...target.works
    .filter(({ ended, result }) => result === null && (ended === 'failed' || ended === 'completed'))
    .map(({ workflowId }) => ({ rule: 9 as const, workflowId, what: 'it ended without a result' })),
];

/** Rule 10: every history replays. One that does not stops its workflow for good. */
const neverStuck: Rule = ({ target }) =>
  target.taskFailures
    .filter(({ isLast }) => isLast)
    .map(({ workflowId, message }) => ({
      rule: 10,
      workflowId,
      what: `workers cannot continue it: its last workflow task failed: ${message}`,
    }));

/**
 * Rule 12: what is claimed is true. A submission that was answered as rejected, or withdrawn before its release began, is
 * not released; a promotion tells what its release did.
 */
export const claimsAreTrue: Rule = ({ target: { workflowId, works, submissions, promotions } }) => [
  ...submissions.flatMap((submission) => releasedAllTheSame(workflowId, submission, submissions, works)),
  ...promotions.flatMap((promotion) => deniedRelease(promotion, works)),
];

function releasedAllTheSame(
  targetId: string,
  { id, answer, withdrawnAt }: SubmissionFact,
  submissions: readonly SubmissionFact[],
  works: readonly WorkFact[],
): Violation[] {
  if (answer === null) return [];
  const work = works.find(({ workflowId }) => workflowId === `${targetId}/${answer.releaseId}`);
  if (work === undefined) return [];
  const violation = (what: string): Violation => ({ rule: 12, workflowId: work.workflowId, what });
  if (answer.disposition === 'rejected') return [violation(`it ran although submission ${id} was rejected`)];
  const stands = submissions.some(
    (other) => other.answer?.releaseId === answer.releaseId && other.withdrawnAt === null,
  );
  if (withdrawnAt === null || stands || answer.disposition !== 'queued') return [];
  if (withdrawnAt >= work.startedAt || work.result?.outcome !== 'released') return [];
  return [violation(`it was released although submission ${id} had been withdrawn before it began`)];
}

function deniedRelease(
  { workflowId, runId, result }: PromotionFact,
  works: readonly WorkFact[],
): Violation[] {
  if (result === null) return [];
  const own = works.find(
    ({ kind, request }) => kind === 'release' && promotionOf(request as ReleaseRequest)?.runId === runId,
  );
  if (own === undefined) return [];
  const violation = (what: string): Violation => ({ rule: 12, workflowId, what });
  if (result.releaseId === null) return [violation(`it names no release, and ${own.workflowId} ran`)];
  const denies = result.outcome === 'aborted' || result.outcome === 'failed';
  if (!denies || own.result?.outcome !== 'released') return [];
  const takenBack = works.some(({ kind, startedAt }) => kind === 'rollback' && startedAt > own.startedAt);
  if (takenBack) return [];
  return [violation(`it ended ${result.outcome}, and what ${own.workflowId} released was not taken back`)];
}

/** Rules 1 to 10 and 12 of the design. */
const RULES: readonly Rule[] = [
  oneAtATime,
  oneOwner,
  nothingForgotten,
  oneRevision,
  ownRevision,
  servedWhenChecked,
  alwaysRestores,
  ownChecks,
  leavesWhatServed,
  watched,
  noSecrets,
  deployedOnly,
  neverWedged,
  neverStuck,
  claimsAreTrue,
];
