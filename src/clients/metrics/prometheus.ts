import type { Agent } from 'undici';
import { z } from 'zod';

import type { CallOptions } from '../exchange.ts';
import { askMetric, type MetricValue } from './metricAnswer.ts';

/** A value of Prometheus: the time in seconds, and the number as text: `0.5`, `NaN`, `+Inf`. */
const Sample = z.tuple([z.number(), z.string()]);

const Instant = z.object({
  status: z.literal('success'),
  data: z.discriminatedUnion('resultType', [
    z.object({ resultType: z.literal('vector'), result: z.array(z.object({ value: Sample })) }),
    z.object({ resultType: z.literal('scalar'), result: Sample }),
  ]),
});

const Range = z.object({
  status: z.literal('success'),
  data: z.object({
    resultType: z.literal('matrix'),
    result: z.array(z.object({ values: z.array(Sample) })),
  }),
});

export interface PrometheusQuery {
  readonly agent: Agent;
  readonly url: string;
  readonly query: string;
  readonly token?: string | undefined;
}

const STEP_SECONDS = 60;

/** The value of a query at one moment: `/api/v1/query`. @param at - milliseconds since 1970. */
export async function queryPrometheus(
  { agent, url, query, token }: PrometheusQuery,
  at: number,
  call: CallOptions,
): Promise<MetricValue> {
  const form = { query, time: seconds(at) };
  const { data } = await askMetric(agent, { url: below(url, 'query'), token, form }, Instant, call);
  if (data.resultType === 'scalar') return numberOf([data.result]);
  return oneSeries(data.result.map(({ value }) => [value]));
}

/** The mean of a query over a window: `/api/v1/query_range`. */
export async function meanOfPrometheus(
  { agent, url, query, token }: PrometheusQuery,
  from: number,
  until: number,
  call: CallOptions,
): Promise<MetricValue> {
  const form = { query, start: seconds(from), end: seconds(until), step: String(STEP_SECONDS) };
  const { data } = await askMetric(agent, { url: below(url, 'query_range'), token, form }, Range, call);
  return oneSeries(data.result.map(({ values }) => values));
}

function oneSeries(series: readonly (readonly z.infer<typeof Sample>[])[]): MetricValue {
  const [only, ...others] = series;
  if (only === undefined) return { value: null, missing: 'the query has no result' };
  if (others.length > 0)
    return { value: null, missing: `the query gives ${series.length} series: aggregate them` };
  return numberOf(only);
}

/** The mean. Values that are no number (`NaN` without traffic, `+Inf`) do not count. */
function numberOf(samples: readonly z.infer<typeof Sample>[]): MetricValue {
  const numbers = samples.map(([, text]) => Number(text)).filter(Number.isFinite);
  if (numbers.length > 0) return { value: numbers.reduce((sum, one) => sum + one, 0) / numbers.length };
  return { value: null, missing: `the query gives ${samples[0]?.[1] ?? 'no value'}` };
}

function below(base: string, endpoint: string): URL {
  return new URL(`${base.replace(/\/+$/, '')}/api/v1/${endpoint}`);
}

function seconds(at: number): string {
  return (at / 1_000).toFixed(3);
}
