import type { Agent } from 'undici';
import type { z } from 'zod';

import { parsedJson } from '../../domain/scalars.ts';
import { describeProblems } from '../errorDetail.ts';
import { Exchange } from '../exchange.ts';
import type { CallOptions } from '../service.ts';

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
  { signal, timeoutMs = 10_000 }: CallOptions = {},
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
    { signal, timeoutMs },
  );
  const value = parsedJson(await exchange.text(ANSWER_MAX_BYTES));
  if (value === undefined) throw exchange.badAnswer('not JSON');
  const read = schema.safeParse(value);
  if (!read.success) throw exchange.badAnswer(`of another form: ${describeProblems(read.error)}`);
  return read.data;
}
