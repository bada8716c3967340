import type { AssistantSearch } from '@slipway/contract/runApi/assistant';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import {
  type BulkCancelBody,
  type CancelAction,
  type CancelQuery,
  RunFailure,
  type RunRequest,
  type RunsQuery,
  type StreamMode,
} from '@slipway/contract/runApi/run';
import type {
  HistoryQuery,
  StateUpdate,
  ThreadCreate,
  ThreadPatch,
  ThreadSearch,
} from '@slipway/contract/runApi/thread';
import { runOfLocation } from './eventStream.ts';
import { single } from './exchange.ts';
import {
  type Answered,
  type CallOptions,
  createService,
  type ServiceOptions,
  type StreamOptions,
  valuesOf,
} from './service.ts';

/** The result of a run that was waited for or joined. */
interface RunResult {
  /** The run's final values as received; the failure if it failed. */
  readonly output: unknown;
  /** Why the run failed; `undefined` if it did not. */
  readonly failure: { readonly error: string; readonly message: string } | undefined;
  /** The run and its thread, if the service names them. */
  readonly runId: string | undefined;
  readonly threadId: string | undefined;
}

interface JoinOptions extends CallOptions {
  /** Whether to cancel the run when this call or its stream is closed. Default: false. */
  readonly cancelOnDisconnect?: boolean;
}

interface JoinStreamOptions extends JoinOptions, StreamOptions {
  readonly streamModes?: readonly StreamMode[];
}

/** The service answers when the run has ended, so there is no limit unless the caller sets one. */
const UNBOUNDED = { timeoutMs: 0 };

export type RunApiClient = ReturnType<typeof createRunApiClient>;

/**
 * Creates the client of a deployed agent, with its own pool of kept-alive connections. It has one method per endpoint
 * of contract 001 and of the endpoints that the public client uses. Each sends its request once and throws a
 * ServiceError unless it succeeds. Waiting and joining have no limit unless `timeoutMs` is set. If a wait is given
 * up, the run continues unless it was to be canceled.
 *
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createRunApiClient(options: ServiceOptions) {
  const service = createService(options);
  const { call, stream } = service;
  const ask = valuesOf(service);
  const of = (threadId: string) => ({ thread_id: threadId });
  const runOf = (threadId: string, runId: string) => ({ thread_id: threadId, run_id: runId });

  return {
    createThread: (body: ThreadCreate = {}, o?: CallOptions) => ask(ENDPOINTS.createThread, { body }, o),
    getThread: (id: string, o?: CallOptions) => ask(ENDPOINTS.getThread, { params: of(id) }, o),
    patchThread: (id: string, body: ThreadPatch, o?: CallOptions) =>
      ask(ENDPOINTS.patchThread, { params: of(id), body }, o),
    deleteThread: (id: string, o?: CallOptions) => ask(ENDPOINTS.deleteThread, { params: of(id) }, o),
    searchThreads: (body: Partial<ThreadSearch> = {}, o?: CallOptions) =>
      ask(ENDPOINTS.searchThreads, { body }, o),
    getThreadState: (id: string, o?: CallOptions) => ask(ENDPOINTS.getThreadState, { params: of(id) }, o),
    updateThreadState: (id: string, body: StateUpdate, o?: CallOptions) =>
      ask(ENDPOINTS.updateThreadState, { params: of(id), body }, o),
    getThreadHistory: (id: string, body: Partial<HistoryQuery> = {}, o?: CallOptions) =>
      ask(ENDPOINTS.getThreadHistory, { params: of(id), body }, o),

    createRun: (id: string, body: RunRequest, o?: CallOptions) =>
      ask(ENDPOINTS.createRun, { params: of(id), body }, o),
    createStatelessRun: (body: RunRequest, o?: CallOptions) => ask(ENDPOINTS.createStatelessRun, { body }, o),
    listRuns: (id: string, query: Partial<RunsQuery> = {}, o?: CallOptions) =>
      ask(ENDPOINTS.listRuns, { params: of(id), query }, o),
    getRun: (id: string, runId: string, o?: CallOptions) =>
      ask(ENDPOINTS.getRun, { params: runOf(id, runId) }, o),
    deleteRun: (id: string, runId: string, o?: CallOptions) =>
      ask(ENDPOINTS.deleteRun, { params: runOf(id, runId) }, o),
    joinRun: async (
      id: string,
      runId: string,
      { cancelOnDisconnect, ...o }: JoinOptions = {},
    ): Promise<RunResult> => {
      const parts = { params: runOf(id, runId), query: disconnectQuery(cancelOnDisconnect) };
      const result = runResult(await call(ENDPOINTS.joinRun, parts, { ...UNBOUNDED, ...o }));
      return { ...result, runId, threadId: id };
    },
    waitRun: async (id: string, body: RunRequest, o?: CallOptions): Promise<RunResult> => {
      const answer = await call(ENDPOINTS.waitRun, { params: of(id), body }, { ...UNBOUNDED, ...o });
      return { ...runResult(answer), threadId: id };
    },
    waitStatelessRun: async (body: RunRequest, o?: CallOptions): Promise<RunResult> =>
      runResult(await call(ENDPOINTS.waitStatelessRun, { body }, { ...UNBOUNDED, ...o })),
    /** Returns when the cancellation is requested. With `wait`, returns when it is done, without a limit. */
    cancelRun: (id: string, runId: string, query: Partial<CancelQuery> = {}, o: CallOptions = {}) => {
      const bounds = query.wait === true ? { ...UNBOUNDED, ...o } : o;
      return ask(ENDPOINTS.cancelRun, { params: runOf(id, runId), query }, bounds);
    },
    cancelRuns: (body: BulkCancelBody, action: CancelAction = 'interrupt', o?: CallOptions) =>
      ask(ENDPOINTS.cancelRuns, { query: { action }, body }, o),

    streamRun: (id: string, body: RunRequest, o?: StreamOptions) =>
      stream(ENDPOINTS.streamRun, { params: of(id), body }, o),
    streamStatelessRun: (body: RunRequest, o?: StreamOptions) =>
      stream(ENDPOINTS.streamStatelessRun, { body }, o),
    joinRunStream: (
      id: string,
      runId: string,
      { cancelOnDisconnect, streamModes, ...o }: JoinStreamOptions = {},
    ) => {
      const query = { ...disconnectQuery(cancelOnDisconnect), stream_mode: streamModes };
      return stream(ENDPOINTS.joinRunStream, { params: runOf(id, runId), query }, o);
    },

    searchAssistants: (body: Partial<AssistantSearch> = {}, o?: CallOptions) =>
      ask(ENDPOINTS.searchAssistants, { body }, o),
    getAssistant: (id: string, o?: CallOptions) =>
      ask(ENDPOINTS.getAssistant, { params: { assistant_id: id } }, o),
    /** Returns when the agent answers that it is ready. */
    ok: async (o?: CallOptions): Promise<void> => {
      await ask(ENDPOINTS.getOk, {}, o);
    },
    info: (o?: CallOptions) => ask(ENDPOINTS.getInfo, {}, o),
    /** Closes the connections after the running requests have ended. */
    close: () => service.close(),
  };
}

/** The only value in the contract. Without it, the run continues. */
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
