import type { Agent } from 'undici';
import { z } from 'zod';

import { valueAt } from '../../domain/check/answer.ts';
import { parsedJson } from '../../domain/scalars.ts';
import { describeProblems } from '../serviceError.ts';
import { type CallOptions, Exchange } from '../exchange.ts';

/** A metric's value, or why it has none. */
export type MetricValue =
  | { readonly value: number }
  /** `isEarly`: there is too little data yet. */
  | { readonly value: null; readonly missing: string; readonly isEarly?: true };

export interface MetricCall {
  readonly url: URL;
  /** A bearer token. Absent: none is sent. */
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** A form to post. Absent: it is a GET. */
  readonly form?: Readonly<Record<string, string>>;
}

/** An answer of metrics is short. */
const ANSWER_MAX_BYTES = 1_048_576;

/**
 * Asks a service for JSON of a schema, once. Redirects are not followed, because the token would go elsewhere.
 * @throws ServiceError. SLIPWAY_BAD_ANSWER if the answer is no JSON, or JSON of another form.
 */
export async function askMetric<T>(
  agent: Agent,
  { url, token, headers = {}, form }: MetricCall,
  schema: z.ZodType<T>,
  call: CallOptions,
): Promise<T> {
  const exchange = new Exchange(
    agent,
    {
      method: form === undefined ? 'GET' : 'POST',
      url,
      headers: {
        accept: 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      body: form && new URLSearchParams(form).toString(),
      secrets: [...(token === undefined ? [] : [token]), ...Object.values(headers)],
    },
    call,
  );
  const value = parsedJson(await exchange.text(ANSWER_MAX_BYTES));
  if (value === undefined) throw exchange.badAnswer('not JSON');
  const read = schema.safeParse(value);
  if (!read.success) throw exchange.badAnswer(`of another form: ${describeProblems(read.error)}`);
  return read.data;
}

interface HttpMetric {
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
  call: CallOptions,
): Promise<MetricValue> {
  const address = new URL(url.replaceAll('{from}', instant(from)).replaceAll('{until}', instant(until)));
  const answer = await askMetric(agent, { url: address, token }, z.looseObject({}), call);
  const value = valueAt(answer, path);
  if (typeof value === 'number' && Number.isFinite(value)) return { value };
  const missing =
    value === undefined || value === null ? `the answer has no "${path}"` : `"${path}" is no number`;
  return { value: null, missing };
}

function instant(at: number): string {
  return encodeURIComponent(new Date(at).toISOString());
}
