import { promotionOf } from '../promotion/promotion.ts';
import type { ReleaseRequest } from '../release/release.ts';
import type { PromotionFact, SubmissionFact, WorkFact } from './facts.ts';
import type { Rule, Violation } from './violation.ts';

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
