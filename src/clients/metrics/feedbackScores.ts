import type { Agent } from 'undici';
import { z } from 'zod';

import { FeedbackItem, TracingProject } from '@slipway/contract/runApi/feedback';
import type { CallOptions } from '../exchange.ts';
import { askMetric, type MetricValue } from './metricAnswer.ts';

export interface FeedbackScores {
  readonly agent: Agent;
  readonly url: string;
  readonly apiKey: string;
  readonly tenantId?: string | undefined;
  readonly project: string;
  readonly key: string;
  /** The fewest scores that make a value. */
  readonly atLeast: number;
}

/** The longest page of the public API. */
const PAGE = 100;
const SCORES_MAX = 1_000;

/** The mean of the scores that a key of a tracing project was given in a window. */
export async function meanOfScores(
  scores: FeedbackScores,
  from: number,
  until: number,
  call: CallOptions,
): Promise<MetricValue> {
  const { agent, url, apiKey, tenantId, project, key, atLeast } = scores;
  const headers = { 'x-api-key': apiKey, ...(tenantId === undefined ? {} : { 'x-tenant-id': tenantId }) };
  const ask = <T>(
    path: string,
    query: Readonly<Record<string, string>>,
    schema: z.ZodType<T>,
  ): Promise<T> => {
    const address = new URL(`${url.replace(/\/+$/, '')}/api/v1/${path}`);
    address.search = new URLSearchParams(query).toString();
    return askMetric(agent, { url: address, headers }, schema, call);
  };
  const projects = await ask('sessions', { name: project }, z.array(TracingProject));
  const session = projects.find(({ name }) => name === project)?.id;
  if (session === undefined) return { value: null, missing: `there is no tracing project "${project}"` };
  const found: number[] = [];
  for (let offset = 0; offset < SCORES_MAX; offset += PAGE) {
    const page = await ask(
      'feedback',
      {
        session,
        key,
        has_score: 'true',
        limit: String(PAGE),
        offset: String(offset),
        min_created_at: new Date(from).toISOString(),
        max_created_at: new Date(until).toISOString(),
      },
      z.array(FeedbackItem),
    );
    // A service that ignores a filter must not change the mean.
    found.push(...page.filter((item) => isIn(item, key, from, until)).flatMap(({ score }) => scoreOf(score)));
    if (page.length < PAGE) break;
  }
  if (found.length < atLeast)
    return { value: null, missing: `${found.length} of ${atLeast} scores`, isEarly: true };
  return { value: found.reduce((sum, one) => sum + one, 0) / found.length };
}

function isIn(item: FeedbackItem, key: string, from: number, until: number): boolean {
  const at = Date.parse(item.created_at);
  return item.key === key && at >= from && at <= until;
}

function scoreOf(score: FeedbackItem['score']): readonly number[] {
  if (typeof score === 'boolean') return [score ? 1 : 0];
  return typeof score === 'number' ? [score] : [];
}
