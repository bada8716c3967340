import { describe, expect, it } from 'vitest';

import { claimsAreTrue } from '../../../src/domain/audit/audit.ts';
import type { PromotionFact, SubmissionFact, WorkFact } from '../../../src/domain/audit/facts.ts';
import { type PromotionResult, promotionRequestKey } from '../../../src/domain/promotion/promotion.ts';
import { ADA, request, result } from '../target/targets.ts';
import { targetFacts, workFact } from './activityFact.ts';

const QUEUED = { releaseId: 'release-1', disposition: 'queued' } as const;

describe('a submission, by the audit', () => {
  const one = (change: Partial<SubmissionFact>): SubmissionFact => ({
    id: 'one',
    answer: QUEUED,
    withdrawnAt: null,
    ...change,
  });

  it('that was rejected must not have run', () => {
    const rejected = one({ answer: { ...QUEUED, disposition: 'rejected' } });
    expect(broken([work()], [rejected])).toEqual(['it ran although submission one was rejected']);
    expect(broken([], [rejected])).toEqual([]);
  });

  it('that was withdrawn before its release began must not have been released, unless another one remains', () => {
    const withdrawn = one({ withdrawnAt: 5 });
    const what = 'it was released although submission one had been withdrawn before it began';
    expect(broken([work()], [withdrawn])).toEqual([what]);
    expect(broken([work()], [one({ withdrawnAt: 15 })])).toEqual([]);
    const joined = one({ id: 'two', answer: { ...QUEUED, disposition: 'joined' } });
    expect(broken([work()], [withdrawn, joined])).toEqual([]);
  });
});

describe('a promotion, by the audit', () => {
  const SUBMITTED = [{ id: 'nightly run', answer: QUEUED, withdrawnAt: null }];
  const promotion = (change: Partial<PromotionResult>) => ({
    workflowId: 'promotion:x:agent:nightly',
    originalRunId: 'run',
    submissions: ['nightly run'],
    result: { outcome: 'aborted', releaseId: 'release-1', ...change } as PromotionResult,
  });

  it('must not claim that nothing was changed if its release ran', () => {
    const what = 'it names no release, and t/release-1 ran';
    expect(broken([work()], SUBMITTED, promotion({ releaseId: null }))).toEqual([what]);
  });

  it('that ended aborted or failed has its release undone', () => {
    const what = 'it ended aborted, and what t/release-1 released was not rolled back';
    expect(broken([work()], SUBMITTED, promotion({}))).toEqual([what]);
    const rollback = { ...work(), kind: 'rollback', startedAt: 20, workflowId: 't/rollback-2' } as const;
    expect(broken([work(), rollback], SUBMITTED, promotion({}))).toEqual([]);
    const stopped = {
      outcome: 'rolled_back',
      preemptedBy: { requestId: 'r', to: 'R0', requestedBy: ADA },
    } as const;
    const other = workFact('release-2', { startedAt: 20, result: result('release-2', stopped) });
    expect(broken([work(), other], SUBMITTED, promotion({}))).toEqual([]);
    expect(broken([work()], SUBMITTED, promotion({ outcome: 'released' }))).toEqual([]);
    // A run that a reset began later submitted it.
    const later = [{ id: 'nightly run later', answer: QUEUED, withdrawnAt: null }];
    expect(broken([work()], later, promotion({ releaseId: null }))).toEqual([]);
  });
});

function work(): WorkFact {
  const asked = request(promotionRequestKey('nightly', 'sha256:x', 'run'));
  return workFact('release-1', { startedAt: 10, endedAt: 12, request: asked });
}

function broken(
  works: readonly WorkFact[],
  submissions: readonly SubmissionFact[],
  ...promotions: PromotionFact[]
): string[] {
  const target = targetFacts({ works, submissions, promotions });
  return claimsAreTrue({ target, observed: null, secrets: [] }).map(({ what }) => what);
}
