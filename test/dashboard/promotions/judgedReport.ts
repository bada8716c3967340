import type { JudgeReport, Side, Trial } from '../../../src/domain/judge/report.ts';
import { madeReport } from '../../domain/judge/madeReport.ts';

const RUNS = 60;

/** Evenly rising latencies; the candidate's are 12 % higher. */
function latencies(side: Side): number[] {
  const factor = side === 'candidate' ? 1.12 : 1;
  return Array.from({ length: RUNS }, (_, index) =>
    Math.round((400 + 9 * index + ((index * 37) % 60)) * factor),
  );
}

/** The runs of both sides. */
export function someTrials(): readonly Trial[] {
  return (['baseline', 'candidate'] as const).flatMap((side, offset) =>
    latencies(side).map((latencyMs, index): Trial => ({
      place: 2 * index + offset,
      side,
      status: 'success',
      ended: true,
      held: index % 20 !== 0,
      reason: index % 20 === 0 ? 'the answer does not contain "hello"' : null,
      latencyMs,
      firstTokenMs: Math.round(latencyMs / 3),
      outputSize: 120,
      outputTokens: null,
      score: null,
      repeated: 0,
      feedback: null,
    })),
  );
}

/** A report with a slower candidate. */
export function judgedReport(): JudgeReport {
  const of = (side: Side) => {
    const values = latencies(side).sort((one, other) => one - other);
    const quantiles = Array.from(
      { length: 21 },
      (_, index) => values[Math.round((index / 20) * (RUNS - 1))] ?? 0,
    );
    return { runs: RUNS, mean: values.reduce((sum, value) => sum + value, 0) / RUNS, quantiles };
  };
  return madeReport('failed', {
    reasons: ['latency: worse by 12.0 % (it matters from 10.0 % on)'],
    metrics: [
      {
        comparison: {
          metric: 'success',
          kind: 'rate',
          baseline: { runs: RUNS, held: 60 },
          candidate: { runs: RUNS, held: 59 },
          change: { estimate: -0.016, lower: -0.05, upper: 0.02 },
          pWorse: 0.5,
          superiority: null,
        },
        smallestEffect: 0.03,
        verdict: 'passed',
        reason: 'at most 2.0 points worse (it matters from 3.0 points on)',
      },
      {
        comparison: {
          metric: 'latency',
          kind: 'distribution',
          baseline: of('baseline'),
          candidate: of('candidate'),
          histogram: null,
          change: { estimate: 0.12, lower: 0.04, upper: 0.21 },
          pWorse: 0.0004,
          superiority: 0.61,
        },
        smallestEffect: 0.1,
        verdict: 'failed',
        reason: 'worse by 12.0 % (it matters from 10.0 % on)',
      },
    ],
  });
}
