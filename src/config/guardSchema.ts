import { z } from 'zod';

import { MINUTE_MS } from '../domain/duration.ts';
import {
  type AllowedChange,
  EVERY_LEAST_MS,
  HOUR_BEFORE_MS,
  METRICS_MAX,
  metricProblem,
} from '../domain/guard/guardPolicy.ts';
import { isRecord } from '../domain/scalars.ts';
import { type Fields, fieldsOf, listOf } from './asWritten.ts';
import { unknownName } from './nearestWord.ts';
import type { FieldProblem } from './configProblem.ts';
import {
  BaseUrl,
  Duration,
  SecretReference,
  ServiceUrl,
  shareOf,
  Text,
  unlessAny,
  wholeNumber,
} from './fields.ts';

const SCORES_MAX = 1_000;

const CHANGE_EXPECTED = 'expected a number such as 0.02, or a share such as 20%';

/** By how much a metric may change: in its own unit, or as a share of the hour before. */
const Change = z
  .union([z.number(CHANGE_EXPECTED), z.string(CHANGE_EXPECTED)], CHANGE_EXPECTED)
  .transform((written, context): AllowedChange => {
    const by = typeof written === 'string' ? shareOf(written) : written;
    if (by !== undefined && by >= 0 && Number.isFinite(by))
      return { by, isRelative: typeof written === 'string' };
    context.addIssue({ code: 'custom', message: CHANGE_EXPECTED });
    return z.NEVER;
  });

const Prometheus = z.strictObject({
  url: BaseUrl.describe('The base URL of Prometheus, or of a service with its HTTP API'),
  query: Text.max(5_000).describe(
    'PromQL that gives one number. {deployment} and {target} become their names',
  ),
  token: SecretReference.optional().describe('A bearer token. Default: none is sent'),
});

const Http = z.strictObject({
  url: ServiceUrl.max(1_500).describe(
    'The endpoint. {deployment} and {target} become their names, {from} and {until} the times of the window',
  ),
  path: Text.default('value').describe('The dot path to the number in the JSON. Default: value'),
  token: SecretReference.optional().describe('A bearer token. Default: none is sent'),
});

const Feedback = z.strictObject({
  key: Text.max(250).describe('The feedback key whose scores are read'),
  atLeast: wholeNumber(1, SCORES_MAX)
    .default(10)
    .describe('The fewest scores that make a value, their mean. Default: 10'),
  project: Text.max(250)
    .optional()
    .describe('The tracing project. Default: the one with the deployment’s name'),
  url: BaseUrl.optional().describe(
    'The tracing service. Default: the control plane’s address; needed for vocabulary public',
  ),
  apiKey: SecretReference.optional().describe(
    'Its key. Default: the target’s apiKey, at the control plane’s address',
  ),
});

const LIMIT = {
  max: z.number().optional().describe('A value above it is worse'),
  min: z.number().optional().describe('A value below it is worse'),
  risesBy: Change.optional().describe(
    'A rise over the hour before the release by more than this is worse: 0.02, or 20%',
  ),
  fallsBy: Change.optional().describe(
    'A fall below the hour before the release by more than this is worse: 0.02, or 20%',
  ),
};

const Metric = z
  .strictObject({
    prometheus: Prometheus.optional().describe('A query of Prometheus'),
    http: Http.optional().describe('An HTTP endpoint that answers a number in JSON'),
    feedback: Feedback.optional().describe('The mean of the scores in the tracing project'),
    ...LIMIT,
  })
  .refine(
    ({ prometheus, http, feedback }) =>
      [prometheus, http, feedback].filter((source) => source !== undefined).length === 1,
    'expected one of prometheus, http and feedback',
  )
  .superRefine(
    unlessAny(function* ({ http, ...limits }) {
      const problem = metricProblem({ ...limits, url: http?.url });
      if (problem === undefined) return;
      const { field, message } = problem;
      yield { path: field === 'url' ? ['http', field] : [field], message };
    }),
  );

export const Metrics = z.record(
  z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/, 'expected letters, digits, "_", "." and "-", 64 at most'),
  Metric,
);
export type MetricConfig = z.infer<typeof Metric>;

const GuardFields = z
  .strictObject({
    for: Duration.default(HOUR_BEFORE_MS).describe(
      'How long the guard lasts, from the end of the release. Default: 1h',
    ),
    every: Duration.default(MINUTE_MS).describe('How often the metrics are asked. Default: 1m'),
    after: Duration.optional().describe(
      'How long after the release they are asked first. Default: as long as every',
    ),
    metrics: z
      .array(Text)
      .min(1)
      .max(METRICS_MAX)
      .optional()
      .describe('The metrics by name. Default: all of this file'),
    noData: z
      .enum(['continue', 'rollback'])
      .default('continue')
      .describe('What to do if a metric has no data: nothing, or a rollback. Default: continue'),
    hold: z
      .boolean()
      .optional()
      .describe('Whether a rollback puts the target on hold, as a person’s does. Default: true'),
  })
  .superRefine(
    unlessAny(function* ({ for: forMs, every, after = every }) {
      const tooLong = 'is longer than for, so that nothing is asked in time';
      if (forMs === 0) yield { path: ['for'], message: 'expected more than 0' };
      if (every < EVERY_LEAST_MS) yield { path: ['every'], message: 'expected at least 1s' };
      else if (forMs > 0 && every > forMs) yield { path: ['every'], message: tooLong };
      else if (forMs > 0 && after > forMs) yield { path: ['after'], message: tooLong };
    }),
  );

/** `guard` of a target: a duration alone is `for`. */
export const Guard = z.union([
  Duration.pipe(
    z
      .number()
      .min(EVERY_LEAST_MS, 'expected at least 1s')
      .transform((forMs): GuardConfig => ({
        for: forMs,
        every: Math.min(MINUTE_MS, forMs),
        noData: 'continue',
      })),
  ),
  GuardFields,
]);
export type GuardConfig = z.infer<typeof GuardFields>;

export function* guardProblems(targets: Fields, metrics: Fields): Iterable<FieldProblem> {
  const names = Object.keys(metrics);
  for (const [target, written] of Object.entries(targets)) {
    const settings = fieldsOf(written);
    const { guard } = settings;
    if (guard === undefined || guard === null) continue;
    const path = ['targets', target, 'guard'];
    if (names.length === 0) {
      yield { path, message: 'there is nothing to measure: define metrics at the top of the file' };
      continue;
    }
    const { metrics: chosen = names } = fieldsOf(guard);
    const wanted = listOf(chosen);
    if (wanted.length > METRICS_MAX)
      yield { path, message: `has more than ${METRICS_MAX} metrics: name some` };
    for (const [index, name] of wanted.entries()) {
      if (typeof name !== 'string') continue;
      if (!names.includes(name)) {
        yield { path: [...path, 'metrics', index], message: unknownName('metric', name, names) };
        continue;
      }
      const metric = fieldsOf(metrics[name]);
      if (settings['deployment'] === undefined && namesDeployment(metric))
        yield {
          path: ['targets', target, 'deployment'],
          message: `expected, because the metric ${name} is of the deployment with this name`,
        };
      if (!isRecord(metric['feedback'])) continue;
      // The control plane's key goes to its own address alone, and the public service has its tracing elsewhere.
      const { url, apiKey } = metric['feedback'];
      const field = (of: string): readonly string[] => ['metrics', name, 'feedback', of];
      if (url === undefined && settings['vocabulary'] === 'public')
        yield { path: field('url'), message: 'expected, because a guarded target has vocabulary public' };
      if (url !== undefined && apiKey === undefined) {
        const message = 'expected with url: the target’s key is sent to the control plane alone';
        yield { path: field('apiKey'), message };
      }
    }
  }
}

/** Whether a metric is asked about a deployment by its name, which a target with a `deploymentId` may leave out. */
function namesDeployment(metric: Fields): boolean {
  const { feedback } = metric;
  const isOfProject = isRecord(feedback) && feedback['project'] === undefined;
  return isOfProject || JSON.stringify(metric).includes('{deployment}');
}
