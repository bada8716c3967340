import { type Change, type MetricComparison, type MetricName, METRICS } from './metric.ts';
import type { JudgePolicy } from './settings.ts';

export type MetricVerdict = 'passed' | 'failed' | 'inconclusive';

/**
 * The verdict on a candidate: no worse in any deciding metric (`passed`), worse in one (`failed`), too little evidence
 * for either (`inconclusive`: never promotes by itself), or the judge could not run (`errored`: says nothing about the
 * candidate).
 */
export type JudgeVerdict = MetricVerdict | 'errored';

interface MetricDecision {
  readonly metric: MetricName;
  readonly verdict: MetricVerdict;
  /** One sentence. */
  readonly reason: string;
}

/** The verdict over all metrics, and its reasons. */
export interface Decision {
  readonly verdict: MetricVerdict;
  readonly reasons: readonly string[];
  readonly metrics: readonly MetricDecision[];
}

/**
 * Decides from the comparisons of the metrics that the policy names; one that was not measured is inconclusive.
 *
 * - A distribution fails if the candidate is worse by more than the smallest relevant effect, with confidence.
 * - A rate fails if Fisher's exact test finds it worse, with confidence, and the difference seen is relevant.
 * - Either passes if the confidence bound of the change excludes a relevant worsening.
 *
 * To pass, each metric must pass, so each is tested at the full level (an intersection-union test). To fail, one is
 * enough, so those tests are corrected by Holm's procedure: a good candidate fails with at most `1 - confidence`.
 */
export function decide(comparisons: readonly MetricComparison[], policy: JudgePolicy): Decision {
  const deciding = (Object.keys(policy.smallestEffects) as MetricName[]).map((metric) =>
    comparisons.find((comparison) => comparison.metric === metric),
  );
  const adjusted = holm(deciding.map((comparison) => comparison?.pWorse ?? 1));
  const metrics = (Object.entries(policy.smallestEffects) as [MetricName, number][]).map(
    ([metric, smallestEffect], index) =>
      decideMetric(metric, deciding[index], { smallestEffect, adjusted: adjusted[index] ?? 1, policy }),
  );
  const verdict = worst(metrics.map((metric) => metric.verdict));
  const reasons = metrics.filter((metric) => metric.verdict === verdict).map(({ reason }) => reason);
  return { verdict, reasons: reasons.length === 0 ? ['no metric decides'] : reasons, metrics };
}

/** Holm's step-down procedure. The adjusted p-values keep their order. */
export function holm(pValues: readonly number[]): number[] {
  const order = pValues.map((p, index) => ({ p, index })).sort((left, right) => left.p - right.p);
  const adjusted = new Array<number>(pValues.length);
  let least = 0;
  order.forEach(({ p, index }, rank) => {
    least = Math.max(least, Math.min(1, p * (pValues.length - rank)));
    adjusted[index] = least;
  });
  return adjusted;
}

/** A change as a worsening: above 0 is worse for every metric. */
export function worsening(metric: MetricName, { estimate, lower, upper }: Change): Change {
  if (METRICS[metric].worse === 'higher') return { estimate, lower, upper };
  const negated = (value: number | null): number | null => (value === null ? null : 0 - value);
  return { estimate: 0 - estimate, lower: negated(upper), upper: negated(lower) };
}

function decideMetric(
  metric: MetricName,
  comparison: MetricComparison | undefined,
  { smallestEffect, adjusted, policy }: { smallestEffect: number; adjusted: number; policy: JudgePolicy },
): MetricDecision {
  const decided = (verdict: MetricVerdict, reason: string): MetricDecision => ({
    metric,
    verdict,
    reason: `${metric}: ${reason}`,
  });
  const runs = Math.min(comparison?.baseline?.runs ?? 0, comparison?.candidate?.runs ?? 0);
  if (runs < policy.minimumRuns || comparison?.change == null) {
    return decided(
      'inconclusive',
      `${runs} runs that count on the side with fewer, ${policy.minimumRuns} are needed`,
    );
  }
  if (comparison.kind === 'rate' && comparison.baseline.held === 0) {
    return decided('inconclusive', 'it holds in no run of the baseline, so there is nothing to compare with');
  }
  const worse = worsening(metric, comparison.change);
  const relevant = comparison.kind === 'distribution' || worse.estimate >= smallestEffect - ROUNDING;
  const limit = `(it matters from ${changeText(metric, smallestEffect)} on)`;
  if (relevant && adjusted <= 1 - policy.confidence + ROUNDING) {
    return decided('failed', `worse by ${changeText(metric, worse.estimate)} ${limit}`);
  }
  if (worse.upper !== null && worse.upper < smallestEffect) {
    const most =
      worse.upper < 0
        ? `better by at least ${changeText(metric, -worse.upper)}`
        : `at most ${changeText(metric, worse.upper)} worse`;
    return decided('passed', `${most} ${limit}`);
  }
  const most = worse.upper === null ? 'any amount' : changeText(metric, worse.upper);
  return decided(
    'inconclusive',
    `it may be worse by ${most} ${limit}; more runs may decide (${runs} so far)`,
  );
}

/** The tolerance for rounding errors of binary fractions, as in 1 - 0.95. */
const ROUNDING = 1e-12;

function worst(verdicts: readonly MetricVerdict[]): MetricVerdict {
  if (verdicts.includes('failed')) return 'failed';
  return verdicts.length === 0 || verdicts.includes('inconclusive') ? 'inconclusive' : 'passed';
}

/** A change for people: `2.4 points`, `31.0 %`, `0.25`. */
export function changeText(metric: MetricName, change: number): string {
  switch (METRICS[metric].change) {
    case 'share':
      return `${(change * 100).toFixed(1)} points`;
    case 'ratio':
      return `${(change * 100).toFixed(1)} %`;
    case 'difference':
      return String(Number(change.toPrecision(3)));
  }
}
