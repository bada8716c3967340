import { z } from 'zod';

import { METRIC_NAMES, type MetricComparison as Comparison } from '../../../domain/judge/metric.ts';
import type * as domain from '../../../domain/judge/report.ts';
import { Count, Instant, openWords } from '../fields.ts';
import { mirrorOf } from '../mirror.ts';
import { Code } from './release.ts';

const MetricName = openWords(METRIC_NAMES);
const MetricVerdict = z.enum(['passed', 'failed', 'inconclusive']);
const Side = z.enum(['baseline', 'candidate']);

const RateSide = z.strictObject({ runs: Count, held: Count });

const DistributionSide = z.strictObject({
  runs: Count,
  mean: z.number(),
  quantiles: z.array(z.number()).describe('The 0th, 5th, 10th, … and 100th percentiles'),
});

const compared = {
  metric: MetricName,
  change: z
    .strictObject({ estimate: z.number(), lower: z.number().nullable(), upper: z.number().nullable() })
    .nullable()
    .describe('From the baseline to the candidate, with its interval; `null`: a side has no runs that count'),
  pWorse: z
    .number()
    .nullable()
    .describe('How likely what was seen, or worse, would be if the candidate were no worse'),
  superiority: z
    .number()
    .nullable()
    .describe('The probability that a run of the candidate has the larger number; `null` for a rate'),
};

export const MetricComparison = mirrorOf<Comparison>()(
  z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('rate'), ...compared, baseline: RateSide, candidate: RateSide }),
    z.strictObject({
      kind: z.literal('distribution'),
      ...compared,
      baseline: DistributionSide.nullable(),
      candidate: DistributionSide.nullable(),
      histogram: z
        .strictObject({
          edges: z.array(z.number()).describe('One more than there are bins'),
          baseline: z.array(Count),
          candidate: z.array(Count),
        })
        .nullable(),
    }),
  ]),
).meta({ id: 'MetricComparison', description: 'What the statistics say of one metric' });

const SideReport = mirrorOf<domain.SideReport>()(
  z.strictObject({
    agentUrl: z.string(),
    runs: Count,
    ended: z.strictObject({ success: Count, error: Count, interrupted: Count, timeout: Count }),
    repeated: Count.describe('Runs that were begun again because the agent could not be reached for a while'),
    feedback: z.strictObject({ recorded: Count, lost: Count }),
    failures: z
      .array(z.strictObject({ reason: z.string(), runs: Count }))
      .describe('The most frequent reasons for which runs did not hold'),
  }),
).meta({ id: 'SideReport', description: 'How the counted runs of one side ended' });

const MetricReport = mirrorOf<domain.MetricReport>()(
  z.strictObject({
    comparison: MetricComparison,
    smallestEffect: z.number().nullable().describe('`null`: the metric is reported and decides nothing'),
    verdict: MetricVerdict.nullable().describe('`null`: it decides nothing'),
    reason: z.string(),
  }),
).meta({ id: 'MetricReport', description: 'One metric of a report' });

export const JudgeReport = mirrorOf<domain.JudgeReport>()(
  z.strictObject({
    verdict: z.enum([...MetricVerdict.options, 'errored']),
    reasons: z.array(z.string()).describe('What the verdict rests on: one sentence each'),
    error: z
      .strictObject({
        side: Side.nullable().describe('Whose fault it is; `null`: neither’s'),
        code: Code,
        message: z.string(),
      })
      .nullable()
      .describe('Why the judge could not do its work'),
    policy: z.strictObject({
      confidence: z.number(),
      minimumRuns: Count,
      smallestEffects: z.partialRecord(MetricName, z.number()),
    }),
    inputs: z.strictObject({ from: z.string(), count: Count, repetitions: Count }),
    seed: z.int().describe('The same seed draws the same sample and order'),
    startedAt: Instant,
    endedAt: Instant,
    sides: z.strictObject({ baseline: SideReport, candidate: SideReport }),
    metrics: z.array(MetricReport).describe('Those that decide first'),
  }),
).meta({ id: 'JudgeReport', description: 'What the judge found; docs/judge.md explains it' });
