import type { Agent } from 'undici';
import type { z } from 'zod';

import { parsedJson } from '../../domain/scalars.ts';
import { type CallOptions, Exchange, type ExchangeRequest } from '../exchange.ts';
import { ServiceError } from '../serviceError.ts';

/** One call of a REST API, with its answer read by a schema. */
export type AskRest = <T>(
  method: ExchangeRequest['method'],
  path: string,
  answer: z.ZodType<T>,
  sent?: {
    readonly query?: Readonly<Record<string, string>>;
    readonly body?: object;
    /** Called with whether the answer names a next page. */
    readonly onPage?: (hasNext: boolean) => void;
  },
) => Promise<T>;

interface RestApi {
  readonly baseUrl: string;
  /** What errors call it: `GitHub`. */
  readonly called: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly token: string;
  /** The path with the names of its parameters, for traces. */
  readonly template: (path: string) => string;
}

const ANSWER_MAX_BYTES = 4 * 1_048_576;

/** Makes the caller of a REST API. @param call - the limits of each of its calls. */
export function restApi(
  agent: Agent,
  { baseUrl, called, headers, token, template }: RestApi,
  call: CallOptions,
): AskRest {
  return async (method, path, answer, { query = {}, body, onPage } = {}) => {
    const url = new URL(`${baseUrl}/${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const exchange = new Exchange(
      agent,
      {
        method,
        url,
        template: template(path),
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        secrets: [token],
      },
      call,
    );
    const { link = [] } = await opened(exchange);
    onPage?.([link].flat().some((links) => /;\s*rel="?next"?/u.test(links)));
    const parsed = answer.safeParse(parsedJson(await exchange.text(ANSWER_MAX_BYTES)));
    if (!parsed.success) throw exchange.badAnswer(`not as ${called} documents it`);
    return parsed.data;
  };
}

/** GitHub says with 403 too that it is asked too often. Of a quota that is used up it says when it is renewed. */
async function opened(
  exchange: Exchange,
): Promise<{ readonly link?: string | readonly string[] | undefined }> {
  try {
    return (await exchange.open()).headers;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { message, method, path, status, retryAfterMs = untilRenewedMs(exchange.headers) } = error;
    const isLimit =
      status === 429 || (status === 403 && (retryAfterMs !== undefined || /rate limit/iu.test(message)));
    if (!isLimit) throw error;
    throw new ServiceError('SLIPWAY_RATE_LIMITED', message, {
      method,
      path,
      status,
      retryAfterMs,
      mayHaveBeenTaken: false,
    });
  }
}

function untilRenewedMs({
  'x-ratelimit-remaining': left,
  'x-ratelimit-reset': atSeconds,
}: Exchange['headers']): number | undefined {
  return left === '0' ? Math.max((Number(atSeconds) || 0) * 1_000 - Date.now(), 0) : undefined;
}
