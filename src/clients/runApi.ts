import type { AssistantSearch } from '@slipway/contract/runApi/assistant';
import { RUN_API_ENDPOINTS as ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { RunFailure, type RunRequest, type RunsQuery } from '@slipway/contract/runApi/run';
import type { ThreadCreate, ThreadSearch } from '@slipway/contract/runApi/thread';
import type { CallOptions } from './exchange.ts';
import { createService, type ServiceOptions } from './service.ts';

interface RunResult {
  /** The run's final values as received; the failure if it failed. */
  readonly output: unknown;
  /** Why the run failed; `undefined` if it did not. */
  readonly failure: { readonly error: string; readonly message: string } | undefined;
}

export type RunApiClient = ReturnType<typeof createRunApiClient>;

/**
 * Creates the client of a deployed agent, with its own pool of kept-alive connections. It has one method per endpoint
 * of contract 001 that Slipway uses. Each sends its request once and throws a ServiceError unless it succeeds.
 * @throws SlipwayError CONFIG_INVALID if the base URL or the key cannot be used.
 */
export function createRunApiClient(options: ServiceOptions) {
  const service = createService(options);
  const { call: ask, stream } = service;
  const of = (threadId: string) => ({ thread_id: threadId });

  return {
    createThread: (body: ThreadCreate, call?: CallOptions) => ask(ENDPOINTS.createThread, { body }, call),
    deleteThread: (id: string, call?: CallOptions) => ask(ENDPOINTS.deleteThread, { params: of(id) }, call),
    searchThreads: (body: Partial<ThreadSearch>, call?: CallOptions) =>
      ask(ENDPOINTS.searchThreads, { body }, call),
    listRuns: (id: string, query: Partial<RunsQuery>, call?: CallOptions) =>
      ask(ENDPOINTS.listRuns, { params: of(id), query }, call),
    /** Returns when the run has ended. If the call is given up, the run continues. */
    waitStatelessRun: async (body: RunRequest, call?: CallOptions): Promise<RunResult> => {
      const output = await ask(ENDPOINTS.waitStatelessRun, { body }, call);
      return { output, failure: RunFailure.safeParse(output).data?.__error__ };
    },
    streamRun: (id: string, body: RunRequest, call?: CallOptions) =>
      stream(ENDPOINTS.streamRun, { params: of(id), body }, call),
    streamStatelessRun: (body: RunRequest, call?: CallOptions) =>
      stream(ENDPOINTS.streamStatelessRun, { body }, call),
    searchAssistants: (body: Partial<AssistantSearch>, call?: CallOptions) =>
      ask(ENDPOINTS.searchAssistants, { body }, call),
    ok: async (call?: CallOptions): Promise<void> => {
      await ask(ENDPOINTS.getOk, {}, call);
    },
    close: () => service.close(),
  };
}
