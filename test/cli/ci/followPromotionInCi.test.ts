import { describe, expect, it } from 'vitest';

import { promotionSummary } from '../../../src/cli/ci/followPromotionInCi.ts';
import type { PromotionResult } from '../../../src/domain/promotion/promotion.ts';
import { sampleStep, sampleVerdict } from '../ui/sampleProgress.ts';

const result: PromotionResult = {
  promotion: 'canary-to-production',
  from: 'canary',
  to: 'production',
  outcome: 'released',
  reason: 'release-7 is what production serves',
  nothingToDo: false,
  code: null,
  artifact: 'sha256:aa',
  commit: 'fdd35b8',
  candidateRevisionId: 'revision-2',
  releaseId: 'release-7',
  differences: ['soak: 1h | 2h'],
  steps: [sampleStep({ step: 'soak', detail: '6 rounds' })],
  verdicts: [sampleVerdict({ answer: 'Hello | Ada' })],
  judgement: null,
  interventions: [],
  requestedBy: { who: 'ada', from: 'cli', reason: 'faster' },
  startedAt: '2026-11-21T12:00:00.000Z',
  endedAt: '2026-11-21T13:00:00.000Z',
};

const NOWHERE = { dashboardUrl: null, workflowUrl: null };

describe('the summary of a promotion', () => {
  it('has the outcome, the promoted artifact and its source, steps, checks and links', () => {
    const text = promotionSummary(result, {
      dashboardUrl: 'https://slipway.example.com/promotions/x',
      workflowUrl: 'http://temporal/w',
    });
    expect(text).toMatch(/^## ✔ canary-to-production, canary to production: released\n\nrelease-7 is what/);
    expect(text).toContain('| asked by | ada: faster |');
    expect(text).toContain('| took | 1h00m |');
    expect(text).toContain('| candidate | `revision-2` |');
    expect(text).toContain('| release | `release-7` |');
    expect(text).toContain('| differs | soak: 1h \\| 2h |');
    expect(text).toMatch(/^\| soak \| done \|.*6 rounds \|$/m);
    expect(text).toMatch(/^\| .* \| Hello \\\| Ada \|/m);
    expect(text).toContain('| page | https://slipway.example.com/promotions/x |');
    expect(text).toContain('| Temporal | http://temporal/w |');
    expect(text).not.toContain('| judged |');
  });

  it('says that there was nothing to do, and shows the judge’s result', () => {
    expect(promotionSummary({ ...result, nothingToDo: true }, NOWHERE)).toMatch(/: nothing to do\n/);
    const judgement = {
      verdict: 'failed',
      reasons: ['latency is worse'],
      baselineRevisionId: 'revision-1',
      candidateRevisionId: 'revision-2',
      report: 'judgements/1',
      at: '2026-11-21T12:30:00.000Z',
    } as const;
    expect(promotionSummary({ ...result, outcome: 'failed', judgement }, NOWHERE)).toMatch(
      /^## ✖ .*: failed\n[^]*\| judged \| failed: latency is worse \(report: judgements\/1\) \|/,
    );
  });
});
