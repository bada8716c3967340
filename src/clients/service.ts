import { Agent } from 'undici';
import type { z } from 'zod';

import type { Endpoint } from '@slipway/contract/endpoint';
import { toValidationIssues, type ValidationIssue } from '@slipway/contract/httpErrors';
import { SlipwayError } from '../domain/errors.ts';
import { parsedJson } from '../domain/scalars.ts';
import { openEventStream, type EventStream } from './eventStream.ts';
import { type CallOptions, Exchange, type ExchangeRequest } from './exchange.ts';
import { describeDetail, secretsOf, ServiceError, type ServiceErrorCode } from './serviceError.ts';

export interface ServiceOptions {
  readonly baseUrl: string;
  /** Sent as `X-Api-Key` with every call. */
  readonly apiKey?: string;
  /** Further headers of every call, for services with other credentials. Their values count as secrets. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further texts that no error may repeat, such as secrets that were sent in earlier requests. */
  readonly secrets?: readonly string[];
  /** What to do if the service refuses the credentials. Default: a hint that fits every service. */
  readonly unauthorizedHint?: string;
  /** The default of {@link CallOptions.timeoutMs}: 30,000. */
  readonly timeoutMs?: number;
  /** The most connections that the pool opens. Default: 256. Each stream and each wait holds one. */
  readonly connections?: number;
  /** The pool to use. Default: a new one. */
  readonly agent?: Agent;
  /** The largest JSON answer, in bytes. Default: 16 MiB. */
  readonly maxAnswerBytes?: number;
  /** The largest event of a stream, in characters. Default: 16 Mi. */
  readonly maxEventCharacters?: number;
  /** Called at the start of each call. Default: calls are not observed. */
  readonly onCall?: OnCall;
}

/**
 * Observes the calls of clients. It must not throw.
 * @param call - `route`: the endpoint's path, with `{name}` for each parameter.
 * @returns a function to call when the answer was read, a stream has started, or the call failed.
 */
export type OnCall = (call: {
  readonly service: Endpoint['service'];
  readonly method: string;
  readonly route: string;
}) => (end: CallEnd) => void;

interface CallEnd {
  readonly status?: number;
  readonly code?: ServiceErrorCode;
  /** Whether the caller gave the call up. */
  readonly aborted?: boolean;
}

export async function observed<T>(
  onCall: OnCall | undefined,
  call: Parameters<OnCall>[0],
  work: (answered: (status: number) => void) => Promise<T>,
): Promise<T> {
  const ended = onCall?.(call);
  let status: number | undefined;
  try {
    const result = await work((answer) => (status = answer));
    ended?.({ status });
    return result;
  } catch (error) {
    if (error instanceof ServiceError) {
      const { status: answered, code, aborted } = error;
      ended?.({ status: answered, code, aborted });
    } else ended?.({});
    throw error;
  }
}

interface CallParts {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The value of an endpoint's answer, as in its contract; nothing if it has no content. */
type AnswerOf<E extends Endpoint> = E['response'] extends z.ZodType ? z.output<E['response']> : undefined;

/** One service behind one pool of kept-alive connections. It sends each request once; the caller may retry. */
export interface Service {
  readonly origin: string;
  readonly agent: Agent;
  readonly credentials: Readonly<Record<string, string>>;
  readonly onCall: OnCall | undefined;
  readonly call: <E extends Endpoint>(
    endpoint: E,
    parts: CallParts,
    options?: CallOptions,
  ) => Promise<AnswerOf<E>>;
  readonly stream: (endpoint: Endpoint, parts: CallParts, options?: CallOptions) => Promise<EventStream>;
  /** Closes the pool after the running requests have ended. */
  close(): Promise<void>;
}

const MEBI = 1_048_576;

export function createService(options: ServiceOptions): Service {
  const base = parseBaseUrl(options.baseUrl);
  const credentials = credentialHeaders(options);
  const agent = options.agent ?? createAgent(options.connections);
  const { secrets = [], unauthorizedHint, onCall } = options;
  const { timeoutMs = 30_000, maxAnswerBytes = 16 * MEBI, maxEventCharacters = 16 * MEBI } = options;

  const prepare = (
    endpoint: Endpoint,
    parts: CallParts,
    options: CallOptions,
    headers: Readonly<Record<string, string>>,
  ): Exchange => {
    const request: ExchangeRequest = {
      method: endpoint.method,
      url: urlOf(base, endpoint, parts),
      template: endpoint.path,
      headers: { ...parts.headers, ...credentials, ...headers },
      body: parts.body === undefined ? undefined : JSON.stringify(parts.body),
      secrets: [...Object.values(credentials), ...secrets, ...secretsOf(parts.body)],
      unauthorizedHint,
    };
    return new Exchange(agent, request, {
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? timeoutMs,
    });
  };

  return {
    origin: base.origin,
    agent,
    credentials,
    onCall,
    async call(endpoint, parts, callOptions = {}) {
      const exchange = prepare(endpoint, parts, callOptions, { accept: 'application/json' });
      return observed(onCall, nameOf(endpoint), async (answered) => {
        const { statusCode } = await exchange.open();
        const text = await exchange.text(maxAnswerBytes);
        answered(statusCode);
        return read(endpoint, text, exchange) as never;
      });
    },
    async stream(endpoint, parts, callOptions = {}) {
      const headers = { accept: 'text/event-stream', 'cache-control': 'no-store' };
      const exchange = prepare(endpoint, parts, callOptions, headers);
      return observed(onCall, nameOf(endpoint), (answered) =>
        openEventStream(exchange, maxEventCharacters, answered),
      );
    },
    close: () => agent.close(),
  };
}

/** A pool without timeouts of its own, except for connecting: the exchanges have limits. */
export function createAgent(connections = 256): Agent {
  return new Agent({ connections, connect: { timeout: CONNECT_MS }, headersTimeout: 0, bodyTimeout: 0 });
}

const CONNECT_MS = 5_000;

function nameOf({ service, method, path: route }: Endpoint): Parameters<OnCall>[0] {
  return { service, method, route };
}

function read(endpoint: Endpoint, text: string, exchange: Exchange): unknown {
  if (endpoint.response === null || endpoint.response === 'stream') return undefined;
  const value = parsedJson(text);
  if (value === undefined) throw exchange.badAnswer(text.trim() === '' ? 'empty' : 'not JSON');
  const parsed = endpoint.response.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = toValidationIssues(parsed.error, 'body').slice(0, 5);
  throw exchange.badAnswer(`not as the contract defines it (${describeDetail(issues)})`);
}

function parseBaseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/u.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', 'The base URL of a service is not valid', {
      place: url === undefined ? 'baseUrl' : `${url.protocol}//${url.host}`,
      hint: 'Use an http or https URL without a user name or password.',
    });
  }
  return new URL(`${url.origin}${url.pathname.replace(/\/+$/u, '')}`);
}

function credentialHeaders({ apiKey, headers = {} }: ServiceOptions): Record<string, string> {
  const credentials = {
    ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    ...(apiKey === undefined || apiKey === '' ? {} : { 'x-api-key': apiKey }),
  };
  for (const [name, value] of Object.entries(credentials)) {
    if (/^[!-~](?:[ -~]*[!-~])?$/u.test(value)) continue;
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `The credential in the header ${name} cannot be sent`, {
      hint: 'Remove line breaks, white space at its ends, and characters other than ASCII.',
    });
  }
  return credentials;
}

export function notSent(endpoint: Endpoint, detail: ValidationIssue[]): ServiceError {
  const { method, path } = endpoint;
  return new ServiceError('SLIPWAY_REFUSED', `${method} ${path}: ${describeDetail(detail)}`, {
    method,
    path,
    detail,
    mayHaveBeenTaken: false,
  });
}

/** @throws ServiceError REFUSED, before anything is sent, if an id would lead to another path. */
function urlOf(base: URL, endpoint: Endpoint, { params = {}, query = {} }: CallParts): URL {
  const checked = endpoint.params?.safeParse(params);
  if (checked?.success === false) throw notSent(endpoint, toValidationIssues(checked.error, 'path'));
  const path = endpoint.path.replace(/\{(\w+)\}/gu, (_, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const url = new URL(`${base.origin}${base.pathname.replace(/\/$/u, '')}${path}`);
  for (const [name, value] of Object.entries(query)) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (each === undefined || each === null) continue;
      url.searchParams.append(name, typeof each === 'string' ? each : JSON.stringify(each));
    }
  }
  return url;
}
