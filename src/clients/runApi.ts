import type { Assistant, AssistantSearch, ServerInfo } from '@slipway/contract/runApi/assistant';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import type { FeedbackSubmission } from '@slipway/contract/runApi/feedback';
import { type Run, RunFailure, type RunRequest, type RunsQuery } from '@slipway/contract/runApi/run';
import type { Thread, ThreadSearch } from '@slipway/contract/runApi/thread';
import type { EventStream } from './eventStream.ts';
import { Exchange } from './exchange.ts';
import { type CallOptions, createAgent, createService, type ServiceOptions } from './service.ts';
import { ServiceError } from './serviceError.ts';

interface RunResult {
  /** The run's final values, as they came; the failure itself if it failed. */
  readonly output: unknown;
  /** Why the run failed; `undefined`: it did not. */
  readonly failure: { readonly error: string; readonly message: string } | undefined;
}

/**
 * A deployed agent's client: the endpoints of contract 001 that Slipway calls. Each call sends its request once and throws
 * a ServiceError for everything but a success. Waiting is not bounded unless `timeoutMs` says so.
 */
export interface RunApiClient {
  searchThreads(body?: Partial<ThreadSearch>, options?: CallOptions): Promise<Thread[]>;
  listRuns(threadId: string, query?: Partial<RunsQuery>, options?: CallOptions): Promise<Run[]>;
  waitStatelessRun(body: RunRequest, options?: CallOptions): Promise<RunResult>;
  streamStatelessRun(body: RunRequest, options?: CallOptions): Promise<EventStream>;
  searchAssistants(body?: Partial<AssistantSearch>, options?: CallOptions): Promise<Assistant[]>;
  /** Returns when the agent answers that it is ready. */
  ok(options?: CallOptions): Promise<void>;
  info(options?: CallOptions): Promise<ServerInfo>;
  /** Closes the connections once the requests in flight have ended. */
  close(): Promise<void>;
}

/**
 * Makes a Run API client with a pool of kept-alive connections of its own.
 * @throws SlipwayError CONFIG_INVALID when the base URL or the key cannot be used.
 */
export function createRunApiClient(options: ServiceOptions): RunApiClient {
  const service = createService(options);
  const { call, stream } = service;
  return {
    searchThreads: (body = {}, o) => call(ENDPOINTS.searchThreads, { body }, o),
    listRuns: (id, query = {}, o) => call(ENDPOINTS.listRuns, { params: { thread_id: id }, query }, o),
    waitStatelessRun: async (body, o) => {
      const value = await call(ENDPOINTS.waitStatelessRun, { body }, { timeoutMs: 0, ...o });
      const failed = RunFailure.safeParse(value);
      return { output: value, failure: failed.success ? failed.data.__error__ : undefined };
    },
    streamStatelessRun: (body, o) => stream(ENDPOINTS.streamStatelessRun, { body }, o),
    searchAssistants: (body = {}, o) => call(ENDPOINTS.searchAssistants, { body }, o),
    ok: async (o) => {
      await call(ENDPOINTS.getOk, {}, o);
    },
    info: (o) => call(ENDPOINTS.getInfo, {}, o),
    close: () => service.close(),
  };
}

/**
 * Records feedback through the pre-signed links that a run was given (contract 001, "Feedback submission fields"). No
 * key is sent: the link is the credential, which is why errors show neither it nor its path.
 */
export interface FeedbackClient {
  /** @throws ServiceError */
  submit(link: string, feedback: FeedbackSubmission, options?: CallOptions): Promise<void>;
  /** Closes the connections once the requests in flight have ended. */
  close(): Promise<void>;
}

/** What errors show instead of a link's path, whose end is a credential. */
const SHOWN_PATH = '/api/v1/feedback/tokens/…';

/** Makes a feedback client with a pool of kept-alive connections of its own. */
export function createFeedbackClient(): FeedbackClient {
  const agent = createAgent({});
  return {
    async submit(link, feedback, { signal, timeoutMs = 30_000 } = {}) {
      const url = parseLink(link);
      const exchange = new Exchange(
        agent,
        {
          method: 'POST',
          url,
          shownPath: SHOWN_PATH,
          headers: {
            accept: 'application/json',
            'user-agent': 'slipway',
            'content-type': 'application/json',
          },
          body: JSON.stringify(feedback),
          secrets: [link, url.pathname, url.pathname.split('/').at(-1) ?? ''],
        },
        { signal, timeoutMs },
      );
      await exchange.open();
      await exchange.text(FEEDBACK_ANSWER_MAX_BYTES);
    },
    close: () => agent.close(),
  };
}

/** What recording feedback answers is the service's own; nothing of it is needed. */
const FEEDBACK_ANSWER_MAX_BYTES = 1_048_576;

function parseLink(link: string): URL {
  const url = URL.canParse(link) ? new URL(link) : undefined;
  if (url !== undefined && /^https?:$/u.test(url.protocol)) return url;
  throw new ServiceError('SLIPWAY_REFUSED', 'The feedback link is not an http or https URL', {
    method: 'POST',
    path: SHOWN_PATH,
    mayHaveBeenTaken: false,
  });
}
