import type { RunRequest } from '@slipway/contract/runApi/run';
import type { Check, ObservedRun } from '../domain/check/check.ts';
import { SlipwayError } from '../domain/errors.ts';
import { isRecord } from '../domain/scalars.ts';
import type { RunApiClient } from './runApi.ts';
import { ServiceError } from './serviceError.ts';

/** The run to observe: a check's run, or a similar one. It has an input or `resume`. */
export type RunToObserve = Pick<Check, 'assistant' | 'timeoutMs' | 'feedbackKey'> & {
  readonly input?: Check['input'];
  /** The value that the interrupt of the thread's previous run returns. Replaces an input. */
  readonly resume?: unknown;
  /** The thread that it runs on; absent: none, so that the agent keeps nothing of the run. */
  readonly threadId?: string;
  /** Whether to stream what `firstOutputMs` needs. Default: false. */
  readonly showsFirstOutput?: boolean;
};

export interface ObservedStream {
  readonly run: ObservedRun;
  readonly runId: string | null;
  /** The pre-signed link for the feedback key: a credential. */
  readonly feedbackLink: string | null;
  /** From the request to the first token or the first step's update, in milliseconds. Initial `values` do not count. */
  readonly firstOutputMs: number | null;
}

/**
 * Runs an agent once, with a stream. A run that takes longer than its `timeoutMs` is canceled by disconnecting, and
 * ends as `timeout`.
 * @param canceled - ends the call, which then throws the client's error.
 * @throws ServiceError if the agent cannot be called; SlipwayError BAD_ANSWER if the stream was interrupted.
 */
export async function observeRun(
  agent: Pick<RunApiClient, 'streamStatelessRun' | 'streamRun'>,
  { assistant, input, resume, threadId, timeoutMs, feedbackKey, showsFirstOutput = false }: RunToObserve,
  canceled: AbortSignal,
): Promise<ObservedStream> {
  const started = performance.now();
  const timeout = AbortSignal.timeout(timeoutMs);
  const seen: { -readonly [Field in keyof Omit<ObservedStream, 'run'>]: ObservedStream[Field] } = {
    runId: null,
    feedbackLink: null,
    firstOutputMs: null,
  };
  let values: unknown;
  let error: string | undefined;
  let isOpen = false;
  const ended = (status: ObservedRun['status']): ObservedStream => ({
    ...seen,
    run: { status, values: values ?? null, latencyMs: performance.now() - started, error },
  });
  try {
    const body: RunRequest = {
      assistant_id: assistant,
      ...(resume === undefined ? { input } : { command: { resume } }),
      stream_mode: showsFirstOutput ? ['values', 'messages-tuple', 'updates'] : ['values'],
      on_disconnect: 'cancel',
      feedback_keys: feedbackKey === undefined ? undefined : [feedbackKey],
      // The stream of the thread's previous run may end before that run does.
      multitask_strategy: threadId === undefined ? undefined : 'enqueue',
    };
    // Only the signal limits the run. A second timer might fire first and look like a service that does not answer.
    const bounds = { signal: AbortSignal.any([canceled, timeout]), timeoutMs: 0 };
    const events = await (threadId === undefined
      ? agent.streamStatelessRun(body, bounds)
      : agent.streamRun(threadId, body, bounds));
    isOpen = true;
    for await (const { event, data } of events) {
      if (event === 'metadata') seen.runId = textField(data, 'run_id');
      if (event === 'feedback' && feedbackKey !== undefined) seen.feedbackLink = textField(data, feedbackKey);
      if (event === 'messages' || event === 'updates') seen.firstOutputMs ??= performance.now() - started;
      if (event === 'values') values = data;
      if (event === 'error') error = describeError(data);
    }
  } catch (failure) {
    // The agent wrote an event that cannot be read, and would write the same again.
    if (isOpen && failure instanceof ServiceError && failure.code === 'SLIPWAY_BAD_ANSWER') {
      error = failure.message;
      return ended('unreadable');
    }
    // If the agent was not connected, or has refused the run, no run took too long.
    const isUnended = failure instanceof ServiceError && failure.code === 'SLIPWAY_NO_ANSWER';
    if (isUnended && timeout.aborted && !canceled.aborted) return ended('timeout');
    throw failure;
  }
  if (error !== undefined) return ended('error');
  if (values === undefined) {
    // Every run begins with its values. Without them, the stream was interrupted and the run did not succeed.
    throw new SlipwayError('SLIPWAY_BAD_ANSWER', 'the stream of the run ended without values');
  }
  const isInterrupted = isRecord(values) && '__interrupt__' in values;
  return ended(isInterrupted ? 'interrupted' : 'success');
}

function describeError(data: unknown): string {
  const name = textField(data, 'error');
  const message = textField(data, 'message');
  return [name, message].filter((part) => part !== null).join(': ') || JSON.stringify(data);
}

function textField(data: unknown, name: string): string | null {
  const value = isRecord(data) ? data[name] : undefined;
  return typeof value === 'string' ? value : null;
}
