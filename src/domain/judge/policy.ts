import type { WholeNumber } from '../scalars.ts';
import type { MetricName } from './metric.ts';

/** What happens to a promotion whose judge cannot tell: judge again later, ask a person, or end it. */
export const ON_INCONCLUSIVE = ['wait', 'ask', 'fail'] as const;
export type OnInconclusive = (typeof ON_INCONCLUSIVE)[number];

/**
 * The confidence of each of several judgements that are made until one of them tells. Looking again is another chance to
 * let a bad candidate pass, so the error that is allowed for is divided among them (Bonferroni): all together are as sure
 * as one would be.
 */
export function confidenceOfEach(confidence: number, judgements: number): number {
  return 1 - (1 - confidence) / judgements;
}

/** What the judge decides by. */
export interface JudgePolicy {
  /** How sure it must be, as a share: 0.95. Holds for passing as for failing. */
  readonly confidence: number;
  /** The fewest runs of each side that a metric is decided from. With fewer it is inconclusive. */
  readonly minimumRuns: WholeNumber;
  /**
   * The smallest relevant effect of each metric that decides: a share, a ratio or a difference (docs/judge.md). A metric
   * that is not named is measured and reported, and decides nothing.
   */
  readonly smallestEffects: Readonly<Partial<Record<MetricName, number>>>;
}

/** The policy where nothing else is said. `docs/judge.md` justifies each number from a simulation. */
export const DEFAULT_POLICY: JudgePolicy = {
  confidence: 0.95,
  minimumRuns: 20,
  smallestEffects: { success: 0.03, expectations: 0.03, firstToken: 0.15, latency: 0.15 },
};
