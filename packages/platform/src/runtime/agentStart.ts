import { setTimeout as sleep } from 'node:timers/promises';

import { errorText } from '@slipway/contract/codedError';
import { request } from 'undici';

import { PlatformError } from '../errors.ts';
import { lastLinesText } from './outputLines.ts';

/** How long a replaced agent may continue its runs, in milliseconds. Default of `SLIPWAY_AGENT_DRAIN_MS`. */
export const DRAIN_MS = 30_000;

/** How long an agent then has to hand over its runs and end before it is killed, in milliseconds. */
export const HAND_OVER_MS = 8_000;

/** How an agent is started: as a process or as a container. */
export interface AgentStart {
  /** Its variables. Values are masked in the log. */
  readonly env: Readonly<Record<string, string>>;
  readonly log: (line: string) => void;
  /** Cancels the start. No effect once the agent runs. */
  readonly signal: AbortSignal;
  /** From its start to the first 200 of `GET /ok`, in ms. The pull of an image has its own timeout. */
  readonly readyTimeoutMs: number;
}

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running agent: a process or a container. */
export interface RunningAgent {
  /** Its address, on loopback. */
  readonly url: string;
  /** Resolves when the agent has ended, for any reason; never rejects. */
  readonly exited: Promise<AgentExit>;
  /** Asks the agent to end (SIGTERM), and kills it after `timeoutMs`. Resolves when nothing of it runs. */
  drain(timeoutMs: number): Promise<void>;
  /** Kills the agent and its children at once. */
  kill(): void;
}

/** Why an agent did not start. */
export type AgentStartFailure =
  | { readonly kind: 'not_runnable'; readonly cause: string }
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: string | null }
  /** It ran, but was not ready in time. `lastState` is its last known state. */
  | { readonly kind: 'not_ready'; readonly afterMs: number; readonly lastState: string }
  /** Its container could not be created. `cause`: whole sentences, with what to do. */
  | { readonly kind: 'container'; readonly cause: string }
  | { readonly kind: 'aborted' };

/** The agent did not answer, and does not run. `message` contains its last lines of output, masked. */
export class AgentStartError extends PlatformError {
  readonly failure: AgentStartFailure;
  /** The agent's last lines of output, oldest first, secrets masked. */
  readonly lastLines: readonly string[];

  constructor(failure: AgentStartFailure, lastLines: readonly string[]) {
    const neverRan = failure.kind === 'aborted' || failure.kind === 'container';
    const output = neverRan ? '' : lastLinesText(lastLines);
    super('SLIPWAY_AGENT_START_FAILED', `${describeFailure(failure)}${output}`);
    this.name = 'AgentStartError';
    this.failure = failure;
    this.lastLines = lastLines;
  }
}

function describeFailure(failure: AgentStartFailure): string {
  switch (failure.kind) {
    case 'not_runnable':
      return `The agent's process could not be started: ${failure.cause}.`;
    case 'exited':
      return failure.signal === null
        ? `The agent ended with exit code ${failure.code ?? 'unknown'} before it was ready.`
        : `The agent was ended by ${failure.signal} before it was ready.`;
    case 'not_ready':
      return `The agent was not ready within ${failure.afterMs / 1000} s: ${failure.lastState}.`;
    case 'container':
      return failure.cause;
    case 'aborted':
      return 'The start of the agent was canceled.';
  }
}

/** The timeout of one probe, in ms: an agent that needs longer for `/ok` is not ready. */
const PROBE_TIMEOUT_MS = 2_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/**
 * Polls an agent's `GET /ok` until it answers 200 (the Run API's readiness).
 * @param url - the agent's address.
 * @param onAnswer - gets the result of each failed probe, in words.
 * @param signal - ends the polling; the promise then rejects with its reason. There is no other end.
 */
export async function probeUntilOk(
  url: string,
  onAnswer: (answer: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    signal.throwIfAborted();
    try {
      const { statusCode, body } = await request(new URL('/ok', url), {
        signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
        // A pooled connection would count as a client while the agent drains.
        headers: { connection: 'close' },
      });
      await body.dump();
      if (statusCode === 200) return;
      onAnswer(`GET /ok answered ${String(statusCode)}`);
    } catch (error) {
      signal.throwIfAborted();
      onAnswer(`GET /ok got no answer (${errorText(error)})`);
    }
    await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

interface StartLimit {
  readonly signal: AbortSignal;
  fail(failure: AgentStartFailure): void;
  /** The error to throw for a start that threw `error`. */
  errorOf(error: unknown, lastLines: readonly string[]): unknown;
  release(): void;
}

/**
 * Combines everything that can end an agent's start into one signal, whose reason is the {@link AgentStartFailure}.
 * @param cancelSignal - the caller's cancellation.
 * @param lastState - the agent's last known state, for the reason if it is not ready in time.
 */
export function limitStart(
  cancelSignal: AbortSignal,
  readyTimeoutMs: number,
  lastState: () => string,
): StartLimit {
  const startAbort = new AbortController();
  const fail = (failure: AgentStartFailure): void => startAbort.abort(failure);
  const onCancel = (): void => fail({ kind: 'aborted' });
  const onTimeout = (): void => fail({ kind: 'not_ready', afterMs: readyTimeoutMs, lastState: lastState() });
  const timer = setTimeout(onTimeout, readyTimeoutMs);
  if (cancelSignal.aborted) onCancel();
  cancelSignal.addEventListener('abort', onCancel, { once: true });
  return {
    signal: startAbort.signal,
    fail,
    errorOf: (error, lastLines) =>
      startAbort.signal.aborted
        ? new AgentStartError(startAbort.signal.reason as AgentStartFailure, lastLines)
        : error,
    release: () => {
      clearTimeout(timer);
      cancelSignal.removeEventListener('abort', onCancel);
    },
  };
}
