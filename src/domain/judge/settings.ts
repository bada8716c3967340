import type { ScoringService } from '../check/evaluator.ts';
import type { Expectation } from '../check/expectation.ts';
import type { WholeNumber } from '../scalars.ts';
import type { MetricName } from './metric.ts';

export interface JudgeSettings {
  /** The graph's name, or an assistant id. */
  readonly assistant: string;
  /** The expectation for runs whose input has none of its own. */
  readonly expect?: Expectation;
  /** The most inputs to run. If there are more, a sample is drawn. */
  readonly inputsMax: number;
  /** How many times to run each input on each side. `null`: until there are {@link RUNS_WANTED} runs of each. */
  readonly repetitions: number | null;
  /** How many runs to have at once, on both sides together. */
  readonly concurrency: number;
  /** Runs on each side before those that count. */
  readonly warmUpRuns: number;
  /** The time limit of one run, in milliseconds. A run that exceeds it counts as failed. */
  readonly runTimeoutMs: number;
  /** How long to wait for an agent that cannot be reached, in milliseconds. Then the judge ends `errored`. */
  readonly patienceMs: number;
  /** The feedback key for recording each run's verdict. */
  readonly feedbackKey?: string;
  /** A dot path to a number in a run's final values: the metric `score`. */
  readonly scorePath?: string;
  /** Instead of `scorePath`: scores each run that ends as expected. */
  readonly evaluator?: ScoringService;
  /** Determines the sample and the order. */
  readonly seed: number;
  readonly policy: JudgePolicy;
}

/** Settings as declared. Each judgement gets a new seed. */
export type DeclaredJudgeSettings = Omit<JudgeSettings, 'seed'>;

/** The judge's inputs: a file in the artifact store, or the runs that the baseline recorded. */
export type JudgeInputs = { readonly digest: string; readonly name: string } | 'recorded';

/** How many runs of each side the default policy needs for its error rates (`docs/judge.md`). */
const RUNS_WANTED = 400;

/** How many times to run each input on each side. */
export function repetitionsOf({ repetitions }: Pick<JudgeSettings, 'repetitions'>, inputs: number): number {
  return repetitions ?? Math.ceil(RUNS_WANTED / inputs);
}

/** The default settings. `docs/judge.md` has the reasons. */
export const DEFAULT_SETTINGS = {
  inputsMax: RUNS_WANTED,
  repetitions: null,
  concurrency: 4,
  warmUpRuns: 3,
  runTimeoutMs: 60_000,
  patienceMs: 30_000,
} as const satisfies Partial<JudgeSettings>;

/** What to do after an inconclusive judgement: judge again later, ask a person, or end the promotion. */
export const ON_INCONCLUSIVE = ['wait', 'ask', 'fail'] as const;
export type OnInconclusive = (typeof ON_INCONCLUSIVE)[number];

/** The confidence of each of several judgements: the allowed error is divided among them (Bonferroni). */
export function confidenceOfEach(confidence: number, judgements: number): number {
  return 1 - (1 - confidence) / judgements;
}

/** The judge's decision rules. */
export interface JudgePolicy {
  /** The required confidence, as a share: 0.95. It applies to passing and to failing. */
  readonly confidence: number;
  /** The fewest runs of each side for a verdict on a metric. With fewer, the metric is inconclusive. */
  readonly minimumRuns: WholeNumber;
  /**
   * The smallest relevant effect of each metric that decides: a share, a ratio or a difference (docs/judge.md). A
   * metric that is not named is measured and reported, and decides nothing.
   */
  readonly smallestEffects: Readonly<Partial<Record<MetricName, number>>>;
}

/** The default policy. `docs/judge.md` justifies each number with a simulation. */
export const DEFAULT_POLICY: JudgePolicy = {
  confidence: 0.95,
  minimumRuns: 20,
  smallestEffects: { success: 0.03, expectations: 0.03, firstToken: 0.15, latency: 0.15 },
};
