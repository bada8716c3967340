import { type MetricComparison, METRIC_NAMES, type MetricName } from '../domain/judge/metric.ts';
import type {
  JudgeError,
  JudgeReport,
  MetricReport,
  Side,
  SideReport,
  Trial,
} from '../domain/judge/report.ts';
import type { JudgeSettings } from '../domain/judge/settings.ts';
import { decide } from '../domain/judge/verdict.ts';
import { compareDistributions, compareRates } from './statistics/compare.ts';

const FAILURES_KEPT = 5;
const REASON_MAX_CHARACTERS = 300;

export interface Findings {
  readonly settings: JudgeSettings;
  readonly inputs: JudgeReport['inputs'];
  readonly agentUrls: Readonly<Record<Side, string>>;
  readonly trials: readonly Trial[];
  /** Why the judge could not run; `null` if it could. */
  readonly error: JudgeError | null;
  readonly startedAt: string;
  readonly endedAt: string;
}

/** Compares, decides and reports. The measurements of a run that did not end as expected count only in the rates. */
export function reportOf({ settings, trials, error, inputs, agentUrls, ...times }: Findings): JudgeReport {
  const { policy, seed } = settings;
  const comparisons = METRIC_NAMES.map((metric) => compare(metric, trials, settings)).filter(
    (comparison) => comparison !== null,
  );
  const decision = decide(comparisons, policy);
  const metrics = comparisons.map((comparison): MetricReport => {
    const decided = decision.metrics.find(({ metric }) => metric === comparison.metric);
    return {
      comparison,
      smallestEffect: policy.smallestEffects[comparison.metric] ?? null,
      verdict: error === null ? (decided?.verdict ?? null) : null,
      reason: decided?.reason ?? `${comparison.metric}: reported, and decides nothing`,
    };
  });
  return {
    verdict: error === null ? decision.verdict : 'errored',
    reasons: error === null ? decision.reasons : [errorReason(error)],
    error,
    policy,
    inputs,
    seed,
    ...times,
    sides: {
      baseline: sideOf('baseline', agentUrls.baseline, trials),
      candidate: sideOf('candidate', agentUrls.candidate, trials),
    },
    metrics: metrics.toSorted(
      (left, right) => Number(left.smallestEffect === null) - Number(right.smallestEffect === null),
    ),
  };
}

function errorReason({ side, code, message }: JudgeError): string {
  return `${side === null ? 'the judge' : `the ${side}`} could not be asked (${code}): ${message}`;
}

/** The values of a distribution. Runs without a value are left out. */
const NUMBERS: Readonly<Partial<Record<MetricName, (trial: Trial) => number | null>>> = {
  firstToken: ({ firstTokenMs }) => firstTokenMs,
  latency: ({ latencyMs }) => latencyMs,
  outputSize: ({ outputSize }) => outputSize,
  outputTokens: ({ outputTokens }) => outputTokens,
  score: ({ score }) => score,
};

function compare(
  metric: MetricName,
  trials: readonly Trial[],
  { policy }: JudgeSettings,
): MetricComparison | null {
  const { confidence, smallestEffects } = policy;
  const of = (side: Side): readonly Trial[] => trials.filter((trial) => trial.side === side);
  const numbers = NUMBERS[metric];
  if (numbers === undefined) {
    const rateOf = (side: Side) => {
      const runs = of(side);
      const holds = (trial: Trial): boolean => (metric === 'success' ? trial.ended : trial.held);
      return { runs: runs.length, held: runs.filter(holds).length };
    };
    return compareRates(metric, rateOf('baseline'), rateOf('candidate'), { confidence });
  }
  const numbersOf = (side: Side): number[] =>
    of(side)
      .filter(({ ended }) => ended)
      .map(numbers)
      .filter((number) => number !== null);
  const smallestEffect = smallestEffects[metric];
  const [baseline, candidate] = [numbersOf('baseline'), numbersOf('candidate')];
  if (smallestEffect === undefined && baseline.length + candidate.length === 0) return null;
  return compareDistributions(metric, baseline, candidate, { confidence, smallestEffect });
}

function sideOf(side: Side, agentUrl: string, trials: readonly Trial[]): SideReport {
  const ended = { success: 0, error: 0, interrupted: 0, timeout: 0 };
  const feedback = { recorded: 0, lost: 0 };
  const failures = new Map<string, number>();
  let runs = 0;
  let repeated = 0;
  for (const trial of trials) {
    if (trial.side !== side) continue;
    runs += 1;
    repeated += trial.repeated;
    ended[trial.status] += 1;
    if (trial.feedback !== null) feedback[trial.feedback ? 'recorded' : 'lost'] += 1;
    for (const why of [trial.reason, trial.noScore ?? null]) {
      if (why === null) continue;
      const reason = why.slice(0, REASON_MAX_CHARACTERS);
      failures.set(reason, (failures.get(reason) ?? 0) + 1);
    }
  }
  const most = [...failures]
    .sort(([, left], [, right]) => right - left)
    .slice(0, FAILURES_KEPT)
    .map(([reason, count]) => ({ reason, runs: count }));
  return { agentUrl, runs, ended, repeated, feedback, failures: most };
}
