import type { Agent } from 'undici';
import { z } from 'zod';

import { valueAt } from '../../domain/check/answer.ts';
import type { CallOptions } from '../service.ts';
import { askMetric } from './metricAnswer.ts';
import type { MetricValue } from './prometheus.ts';

export interface HttpMetric {
  readonly agent: Agent;
  /** With `{from}` and `{until}` where it takes a window. They become times in ISO 8601. */
  readonly url: string;
  /** The dot path to the number in the JSON. */
  readonly path: string;
  readonly token?: string | undefined;
}

/** Asks an HTTP endpoint for its number in a window. `null` in its place is no data. */
export async function askHttpMetric(
  { agent, url, path, token }: HttpMetric,
  from: number,
  until: number,
  options: CallOptions = {},
): Promise<MetricValue> {
  const address = new URL(url.replaceAll('{from}', instant(from)).replaceAll('{until}', instant(until)));
  const answer = await askMetric(agent, { url: address, token }, z.looseObject({}), options);
  const value = valueAt(answer, path);
  if (typeof value === 'number' && Number.isFinite(value)) return { value };
  const missing =
    value === undefined || value === null ? `the answer has no "${path}"` : `"${path}" is no number`;
  return { value: null, missing };
}

function instant(at: number): string {
  return encodeURIComponent(new Date(at).toISOString());
}
