import type { Assistant, AssistantSearch, ServerInfo } from '@slipway/contract/runApi/assistant';
import type { BulkCancelBody, CancelAction, CancelQuery } from '@slipway/contract/runApi/run';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import {
  type Run,
  RunFailure,
  type RunRequest,
  type RunsQuery,
  type StreamMode,
} from '@slipway/contract/runApi/run';
import type {
  HistoryQuery,
  StateUpdate,
  StateUpdated,
  Thread,
  ThreadCreate,
  ThreadPatch,
  ThreadSearch,
  ThreadState,
} from '@slipway/contract/runApi/thread';
import { type EventStream, runOfLocation } from './eventStream.ts';
import { single } from './exchange.ts';
import {
  type Answered,
  type CallOptions,
  createService,
  type ServiceOptions,
  type StreamOptions,
} from './service.ts';

/** How a run that was waited for or joined ended. */
interface RunResult {
  /** The run's final values, as they came; the failure itself where it failed. */
  readonly output: unknown;
  /** Why the run failed; `undefined`: it did not. */
  readonly failure: { readonly error: string; readonly message: string } | undefined;
  /** The run and its thread, where the service names them. */
  readonly runId: string | undefined;
  readonly threadId: string | undefined;
}

/** The options of joining a run. */
interface JoinOptions extends CallOptions {
  /** Whether the run is cancelled when this call goes away. Default: false. */
  readonly cancelOnDisconnect?: boolean;
}

/** The options of joining a run's stream. */
interface JoinStreamOptions extends StreamOptions {
  /** Whether the run is cancelled when this stream is closed. Default: false. */
  readonly cancelOnDisconnect?: boolean;
  readonly streamModes?: readonly StreamMode[];
}

/**
 * A deployed agent's client: one method per endpoint of contract 001 and of those that the public client uses. Each
 * sends its request once and throws a ServiceError for everything but a success. Waiting and joining are not bounded
 * unless `timeoutMs` says so; a wait that is given up leaves the run running unless it was to be cancelled.
 */
export interface RunApiClient {
  createThread(body?: ThreadCreate, options?: CallOptions): Promise<Thread>;
  getThread(threadId: string, options?: CallOptions): Promise<Thread>;
  patchThread(threadId: string, body: ThreadPatch, options?: CallOptions): Promise<Thread>;
  deleteThread(threadId: string, options?: CallOptions): Promise<void>;
  searchThreads(body?: Partial<ThreadSearch>, options?: CallOptions): Promise<Thread[]>;
  getThreadState(threadId: string, options?: CallOptions): Promise<ThreadState>;
  updateThreadState(threadId: string, body: StateUpdate, options?: CallOptions): Promise<StateUpdated>;
  getThreadHistory(
    threadId: string,
    body?: Partial<HistoryQuery>,
    options?: CallOptions,
  ): Promise<ThreadState[]>;

  createRun(threadId: string, body: RunRequest, options?: CallOptions): Promise<Run>;
  createStatelessRun(body: RunRequest, options?: CallOptions): Promise<Run>;
  listRuns(threadId: string, query?: Partial<RunsQuery>, options?: CallOptions): Promise<Run[]>;
  getRun(threadId: string, runId: string, options?: CallOptions): Promise<Run>;
  deleteRun(threadId: string, runId: string, options?: CallOptions): Promise<void>;
  joinRun(threadId: string, runId: string, options?: JoinOptions): Promise<RunResult>;
  waitRun(threadId: string, body: RunRequest, options?: CallOptions): Promise<RunResult>;
  waitStatelessRun(body: RunRequest, options?: CallOptions): Promise<RunResult>;
  /** Returns when cancelling is requested; with `wait`, when it is done, and then unbounded in time. */
  cancelRun(
    threadId: string,
    runId: string,
    query?: Partial<CancelQuery>,
    options?: CallOptions,
  ): Promise<void>;
  cancelRuns(body: BulkCancelBody, action?: CancelAction, options?: CallOptions): Promise<void>;

  streamRun(threadId: string, body: RunRequest, options?: StreamOptions): Promise<EventStream>;
  streamStatelessRun(body: RunRequest, options?: StreamOptions): Promise<EventStream>;
  joinRunStream(threadId: string, runId: string, options?: JoinStreamOptions): Promise<EventStream>;

  searchAssistants(body?: Partial<AssistantSearch>, options?: CallOptions): Promise<Assistant[]>;
  getAssistant(assistantId: string, options?: CallOptions): Promise<Assistant>;
  /** Returns when the agent answers that it is ready. */
  ok(options?: CallOptions): Promise<void>;
  info(options?: CallOptions): Promise<ServerInfo>;
  /** Closes the connections once the requests in flight have ended. */
  close(): Promise<void>;
}

/** Where the service answers when a run has ended: not bounded unless the caller says so. */
const UNBOUNDED = { timeoutMs: 0 };

/**
 * Makes a Run API client with a pool of kept-alive connections of its own.
 * @throws SlipwayError CONFIG_INVALID when the base URL or the key cannot be used.
 */
export function createRunApiClient(options: ServiceOptions): RunApiClient {
  const service = createService(options);
  const of = (threadId: string) => ({ thread_id: threadId });
  const runOf = (threadId: string, runId: string) => ({ thread_id: threadId, run_id: runId });
  const { call, stream } = service;

  return {
    createThread: async (body = {}, o) => (await call(ENDPOINTS.createThread, { body }, o)).value,
    getThread: async (id, o) => (await call(ENDPOINTS.getThread, { params: of(id) }, o)).value,
    patchThread: async (id, body, o) =>
      (await call(ENDPOINTS.patchThread, { params: of(id), body }, o)).value,
    deleteThread: async (id, o) => (await call(ENDPOINTS.deleteThread, { params: of(id) }, o)).value,
    searchThreads: async (body = {}, o) => (await call(ENDPOINTS.searchThreads, { body }, o)).value,
    getThreadState: async (id, o) => (await call(ENDPOINTS.getThreadState, { params: of(id) }, o)).value,
    updateThreadState: async (id, body, o) =>
      (await call(ENDPOINTS.updateThreadState, { params: of(id), body }, o)).value,
    getThreadHistory: async (id, body = {}, o) =>
      (await call(ENDPOINTS.getThreadHistory, { params: of(id), body }, o)).value,

    createRun: async (id, body, o) => (await call(ENDPOINTS.createRun, { params: of(id), body }, o)).value,
    createStatelessRun: async (body, o) => (await call(ENDPOINTS.createStatelessRun, { body }, o)).value,
    listRuns: async (id, query = {}, o) =>
      (await call(ENDPOINTS.listRuns, { params: of(id), query }, o)).value,
    getRun: async (id, runId, o) => (await call(ENDPOINTS.getRun, { params: runOf(id, runId) }, o)).value,
    deleteRun: async (id, runId, o) =>
      (await call(ENDPOINTS.deleteRun, { params: runOf(id, runId) }, o)).value,
    joinRun: async (id, runId, { cancelOnDisconnect, ...o } = {}) => {
      const parts = { params: runOf(id, runId), query: disconnectQuery(cancelOnDisconnect) };
      const result = runResult(await call(ENDPOINTS.joinRun, parts, { ...UNBOUNDED, ...o }));
      return { ...result, runId, threadId: id };
    },
    waitRun: async (id, body, o) => {
      const result = runResult(
        await call(ENDPOINTS.waitRun, { params: of(id), body }, { ...UNBOUNDED, ...o }),
      );
      return { ...result, threadId: id };
    },
    waitStatelessRun: async (body, o) =>
      runResult(await call(ENDPOINTS.waitStatelessRun, { body }, { ...UNBOUNDED, ...o })),
    cancelRun: async (id, runId, query = {}, o = {}) => {
      const bounds = query.wait === true ? { ...UNBOUNDED, ...o } : o;
      await call(ENDPOINTS.cancelRun, { params: runOf(id, runId), query }, bounds);
    },
    cancelRuns: async (body, action = 'interrupt', o) =>
      (await call(ENDPOINTS.cancelRuns, { query: { action }, body }, o)).value,

    streamRun: (id, body, o) => stream(ENDPOINTS.streamRun, { params: of(id), body }, o),
    streamStatelessRun: (body, o) => stream(ENDPOINTS.streamStatelessRun, { body }, o),
    joinRunStream: (id, runId, { cancelOnDisconnect, streamModes, ...o } = {}) => {
      const query = { ...disconnectQuery(cancelOnDisconnect), stream_mode: streamModes };
      return stream(ENDPOINTS.joinRunStream, { params: runOf(id, runId), query }, o);
    },

    searchAssistants: async (body = {}, o) => (await call(ENDPOINTS.searchAssistants, { body }, o)).value,
    getAssistant: async (id, o) =>
      (await call(ENDPOINTS.getAssistant, { params: { assistant_id: id } }, o)).value,
    ok: async (o) => {
      await call(ENDPOINTS.getOk, {}, o);
    },
    info: async (o) => (await call(ENDPOINTS.getInfo, {}, o)).value,
    close: () => service.close(),
  };
}

/** The one spelling that the contract has; without it the run goes on. */
function disconnectQuery(cancel: boolean | undefined): Record<string, string> {
  return cancel === true ? { cancel_on_disconnect: 'cancel' } : {};
}

function runResult({ value, headers }: Answered<unknown>): RunResult {
  const failed = RunFailure.safeParse(value);
  return {
    output: value,
    failure: failed.success ? failed.data.__error__ : undefined,
    ...runOfLocation(single(headers['content-location'])),
  };
}
