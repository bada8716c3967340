import type { Expectation } from '../check/expectation.ts';
import type { WholeNumber } from '../scalars.ts';
import type { MetricName } from './metric.ts';

/** How a judge goes about it. */
export interface JudgeSettings {
  /** The graph's name, or an assistant id. */
  readonly assistant: string;
  /** What is expected of every run whose input brings no expectation of its own. */
  readonly expect?: Expectation;
  /** At most this many inputs are run; of more, a sample is drawn. */
  readonly inputsMax: number;
  /** How often each input is run on each side. `null`: as often as brings {@link RUNS_WANTED} runs of each side. */
  readonly repetitions: number | null;
  /** How many runs are under way at once, both sides together. */
  readonly concurrency: number;
  /** Runs on each side before those that count. */
  readonly warmUpRuns: number;
  /** How long one run may take, in milliseconds. One that takes longer counts as failed. */
  readonly runTimeoutMs: number;
  /** How long an agent that cannot be reached is waited for, in milliseconds; then the judge ends `errored`. */
  readonly patienceMs: number;
  /** The feedback key under which each run's verdict is recorded. */
  readonly feedbackKey?: string;
  /** A dot path into a run's final values where a number stands: the metric `score`. */
  readonly scorePath?: string;
  /** Draws the sample and the order. */
  readonly seed: number;
  readonly policy: JudgePolicy;
}

/** Settings as they are declared: what draws the sample and the order is drawn anew for each judgement. */
export type DeclaredJudgeSettings = Omit<JudgeSettings, 'seed'>;

/** A file of inputs in the artifact store, with the name that it has for people; or the runs that the baseline recorded. */
export type JudgeInputs = { readonly digest: string; readonly name: string } | 'recorded';

/** How many runs of each side the default policy needs for its error rates (`docs/judge.md`). */
const RUNS_WANTED = 400;

/** How often each of so many inputs is run on each side. */
export function repetitionsOf({ repetitions }: Pick<JudgeSettings, 'repetitions'>, inputs: number): number {
  return repetitions ?? Math.ceil(RUNS_WANTED / inputs);
}

/** The settings where nothing else is said. `docs/judge.md` has the reasons. */
export const DEFAULT_SETTINGS = {
  inputsMax: RUNS_WANTED,
  repetitions: null,
  concurrency: 4,
  warmUpRuns: 3,
  runTimeoutMs: 60_000,
  patienceMs: 30_000,
} as const satisfies Partial<JudgeSettings>;

/** What happens to a promotion whose judgement is inconclusive: judge again later, ask a person, or end it. */
export const ON_INCONCLUSIVE = ['wait', 'ask', 'fail'] as const;
export type OnInconclusive = (typeof ON_INCONCLUSIVE)[number];

/**
 * The confidence of each of several judgements until one is conclusive. Each look is another chance to let a bad
 * candidate pass, so the allowed error is divided among them (Bonferroni).
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
   * The smallest relevant effect of each metric that decides: a share, a ratio or a difference (docs/judge.md). A
   * metric that is not named is measured and reported, and decides nothing.
   */
  readonly smallestEffects: Readonly<Partial<Record<MetricName, number>>>;
}

/** The policy where nothing else is said. `docs/judge.md` justifies each number from a simulation. */
export const DEFAULT_POLICY: JudgePolicy = {
  confidence: 0.95,
  minimumRuns: 20,
  smallestEffects: { success: 0.03, expectations: 0.03, firstToken: 0.15, latency: 0.15 },
};
