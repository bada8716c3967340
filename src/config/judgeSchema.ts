import { pick } from '@slipway/contract/pick';
import { z } from 'zod';

import type { ScoringService } from '../domain/check/evaluator.ts';
import { type Expectation as ExpectationOfRun, hasReference } from '../domain/check/expectation.ts';
import { HOUR_MS } from '../domain/duration.ts';
import { METRIC_NAMES, type MetricName, METRICS } from '../domain/judge/metric.ts';
import {
  type DeclaredJudgeSettings,
  DEFAULT_POLICY,
  DEFAULT_SETTINGS,
  ON_INCONCLUSIVE,
} from '../domain/judge/settings.ts';
import { SCORING_SERVICE } from './checkSchema.ts';
import { Expectation } from './expectationSchema.ts';
import { Duration, Text, TimeLimit, wholeNumber } from './fields.ts';

const INPUTS_MAX = 100_000;
const CONCURRENCY_MAX = 256;
const REPETITIONS_MAX = 1_000;
const RUNS_MAX = 1_000_000;
const AGAIN_MAX = 20;

const Confidence = z.number().gt(0.5, 'expected a share above 0.5').lt(1, 'expected a share below 1');

const SmallestEffect = z.number().positive('expected more than 0').max(1_000);

const Metrics = z
  .strictObject(
    Object.fromEntries(
      METRIC_NAMES.map((metric) => [metric, SmallestEffect.optional().describe(effectDescription(metric))]),
    ) as Record<MetricName, z.ZodOptional<typeof SmallestEffect>>,
  )
  .refine((metrics) => Object.keys(metrics).length > 0, {
    message: 'expected at least one metric that decides',
  });

/** The runs to judge must be given, and the score if it decides. */
function complete<
  Fields extends z.ZodType<{
    readonly inputs?: string;
    readonly recorded?: true;
    readonly expect?: ExpectationOfRun;
    readonly metrics: { readonly score?: unknown };
    readonly scorePath?: string;
    readonly evaluator?: object;
  }>,
>(fields: Fields) {
  return fields
    .refine(({ inputs, recorded }) => (inputs === undefined) !== (recorded === undefined), {
      path: ['inputs'],
      message: 'expected a file of inputs, or recorded: true, and not both',
    })
    .refine(({ recorded, expect = {} }) => recorded === undefined || !hasReference(expect), {
      path: ['expect'],
      message: 'compares with a reference, which recorded inputs do not have',
    })
    .refine(({ evaluator, scorePath }) => evaluator === undefined || scorePath === undefined, {
      path: ['evaluator'],
      message: 'expected this or scorePath, and not both',
    })
    .refine(
      ({ metrics, evaluator, scorePath }) =>
        metrics.score === undefined || (evaluator ?? scorePath) !== undefined,
      { path: ['scorePath'], message: 'expected this or an evaluator, since the metric score decides' },
    );
}

/** How a candidate is judged before it is promoted. */
export const Judge = complete(
  z.strictObject({
    inputs: Text.optional().describe('A file of inputs, JSON Lines, relative to slipway.yaml'),
    recorded: z
      .literal(true)
      .optional()
      .describe('Use the inputs of the successful runs on the baseline’s threads instead of a file'),
    assistant: Text.describe('The graph’s name in the graph configuration'),
    expect: Expectation.optional().describe('The expectation for inputs without one of their own'),
    inputsMax: wholeNumber(1, INPUTS_MAX)
      .default(DEFAULT_SETTINGS.inputsMax)
      .describe('The most inputs to run. Larger sets are sampled. Default: 400'),
    repetitions: wholeNumber(1, REPETITIONS_MAX)
      .optional()
      .describe('How often to run each input on each side. Default: until there are 400 runs of each'),
    concurrency: wholeNumber(1, CONCURRENCY_MAX)
      .default(DEFAULT_SETTINGS.concurrency)
      .describe('How many runs at once, both sides together. Default: 4'),
    warmUpRuns: wholeNumber(0, REPETITIONS_MAX)
      .default(DEFAULT_SETTINGS.warmUpRuns)
      .describe('Warm-up runs on each side, which do not count. Default: 3'),
    runTimeout: TimeLimit.default(DEFAULT_SETTINGS.runTimeoutMs).describe(
      'How long one run may take. Default: 60s',
    ),
    patience: Duration.default(DEFAULT_SETTINGS.patienceMs).describe(
      'How long to wait for an agent that cannot be reached. Default: 30s',
    ),
    feedbackKey: Text.optional().describe('The feedback key under which each run’s verdict is recorded'),
    scorePath: Text.optional().describe('A dot path into the final values to a number: the metric score'),
    evaluator: z
      .strictObject(SCORING_SERVICE)
      .optional()
      .describe('Instead of scorePath: the service that gives the metric score. docs/evaluators.md'),
    confidence: Confidence.default(DEFAULT_POLICY.confidence).describe(
      'The required confidence. Default: 0.95',
    ),
    minimumRuns: wholeNumber(2, RUNS_MAX)
      .default(DEFAULT_POLICY.minimumRuns)
      .describe('The least number of runs on each side to decide a metric. Default: 20'),
    metrics: Metrics.prefault({ ...DEFAULT_POLICY.smallestEffects }).describe(
      'The metrics that decide, each with its smallest relevant effect. Default: success and expectations 0.03, firstToken and latency 0.15',
    ),
    onInconclusive: z
      .enum(ON_INCONCLUSIVE)
      .default('ask')
      .describe(
        'What to do if the verdict is inconclusive: judge again later (wait), ask a person (ask), or fail. Default: ask',
      ),
    again: z
      .strictObject({
        after: Duration.default(HOUR_MS).describe('The pause before the next one. Default: 1h'),
        times: wholeNumber(1, AGAIN_MAX).default(2).describe('The most repetitions. Default: 2'),
      })
      .prefault({})
      .describe('With onInconclusive: wait, when to judge again. All judgements share the allowed error'),
  }),
);
export type Judge = z.infer<typeof Judge>;

const { onInconclusive: _, again: _1, ...compared } = Judge.shape;
/** How the agent of a preview is compared: a judge whose verdict decides nothing. */
export const PreviewJudge = complete(z.strictObject(compared));
export type PreviewJudge = z.infer<typeof PreviewJudge>;

export function judgeSettings(judge: PreviewJudge): DeclaredJudgeSettings {
  const { repetitions = DEFAULT_SETTINGS.repetitions, metrics, evaluator } = judge;
  return {
    ...pick(judge, 'assistant', 'inputsMax', 'concurrency', 'warmUpRuns'),
    ...pick(judge, 'expect', 'feedbackKey', 'scorePath'),
    repetitions,
    runTimeoutMs: judge.runTimeout,
    patienceMs: judge.patience,
    policy: { ...pick(judge, 'confidence', 'minimumRuns'), smallestEffects: metrics },
    evaluator: evaluator && evaluatorSettings(evaluator),
  };
}

function evaluatorSettings({
  timeout: timeoutMs,
  ...service
}: NonNullable<Judge['evaluator']>): ScoringService {
  return { ...service, timeoutMs };
}

function effectDescription(metric: MetricName): string {
  switch (METRICS[metric].change) {
    case 'share':
      return 'The smallest drop that matters, as a share: 0.03 is three points';
    case 'ratio':
      return 'The smallest growth that matters, relative to the baseline: 0.15 is 15 %';
    case 'difference':
      return 'The smallest drop that matters, in the score’s own unit';
  }
}
