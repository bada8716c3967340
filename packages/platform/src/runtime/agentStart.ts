import { setTimeout as sleep } from 'node:timers/promises';

import { request } from 'undici';

import { PlatformError } from '../errors.ts';

/** How an agent ended: an exit code, or the signal that ended it. */
export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** An agent that answers, whatever it runs as: a process, or a container. */
export interface RunningAgent {
  /** Its address, on loopback. */
  readonly url: string;
  /** Resolves when the agent has ended, however that came about; never rejects. */
  readonly exited: Promise<AgentExit>;
  /**
   * Asks the agent to finish what it is at and end (SIGTERM), and kills all of it after `timeoutMs`; a process has to
   * hand over what it is at some seconds before that. Resolves when
   * nothing of it is left. Called again, it joins; a shorter time limit then counts.
   */
  drain(timeoutMs: number): Promise<void>;
  /** Kills all of it at once. */
  kill(): void;
}

/** Why an agent did not start. */
export type AgentStartFailure =
  /** The program could not be run at all. */
  | { readonly kind: 'not_runnable'; readonly cause: string }
  /** The process ended before it was ready. */
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: string | null }
  /** It ran, and was not ready in time. `seen` is how far it came. */
  | { readonly kind: 'not_ready'; readonly afterMs: number; readonly seen: string }
  /** Its container could not be had. `cause`: whole sentences, with what to do. */
  | { readonly kind: 'container'; readonly cause: string }
  /** The caller gave up. */
  | { readonly kind: 'aborted' };

/**
 * `startAgent` could not bring the agent to answer. Nothing of it is left running.
 *
 * `message` holds the agent's last lines of output (secrets masked), for a person to read in the revision.
 */
export class AgentStartError extends PlatformError {
  readonly failure: AgentStartFailure;
  /** The agent's last lines of output, oldest first, secrets masked. */
  readonly lastLines: readonly string[];

  constructor(failure: AgentStartFailure, lastLines: readonly string[]) {
    const said =
      lastLines.length === 0 ? ' It printed nothing.' : ` Its last lines:\n${lastLines.join('\n')}`;
    const neverRan = failure.kind === 'aborted' || failure.kind === 'container';
    super('SLIPWAY_AGENT_START_FAILED', `${sentence(failure)}${neverRan ? '' : said}`);
    this.name = 'AgentStartError';
    this.failure = failure;
    this.lastLines = lastLines;
  }
}

function sentence(failure: AgentStartFailure): string {
  switch (failure.kind) {
    case 'not_runnable':
      return `The agent's process could not be started: ${failure.cause}.`;
    case 'exited':
      return failure.signal === null
        ? `The agent ended with exit code ${failure.code ?? 'unknown'} before it was ready.`
        : `The agent was ended by ${failure.signal} before it was ready.`;
    case 'not_ready':
      return `The agent was not ready within ${failure.afterMs / 1000} s: ${failure.seen}.`;
    case 'container':
      return failure.cause;
    case 'aborted':
      return 'The start of the agent was called off.';
  }
}

/** How long one probe may take: an agent that needs longer for `/ok` is not ready. */
const PROBE_TIMEOUT_MS = 2_000;
const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/**
 * Asks an agent's `GET /ok` until it answers 200 (the Run API's readiness answer).
 * @param url - the agent's address.
 * @param onAnswer - gets how each probe that was not 200 went, in words.
 * @param signal - gives up; the promise then rejects with the signal's reason. There is no other end.
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
        // A pooled connection would keep this process's probe counted as a client while the agent drains.
        headers: { connection: 'close' },
      });
      await body.dump();
      if (statusCode === 200) return;
      onAnswer(`GET /ok answered ${String(statusCode)}`);
    } catch (error) {
      signal.throwIfAborted();
      onAnswer(`GET /ok got no answer (${error instanceof Error ? error.message : String(error)})`);
    }
    await sleep(pause, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/**
 * Everything that can end the start of an agent, as one signal whose reason is the {@link AgentStartFailure}.
 * @param calledOff - the caller gives up.
 * @param seen - how far the agent came, for the reason if it is not ready in time.
 */
export function limitStart(calledOff: AbortSignal, readyTimeoutMs: number, seen: () => string) {
  const over = new AbortController();
  const fail = (failure: AgentStartFailure): void => over.abort(failure);
  const onCalledOff = (): void => fail({ kind: 'aborted' });
  const onTime = (): void => fail({ kind: 'not_ready', afterMs: readyTimeoutMs, seen: seen() });
  const timer = setTimeout(onTime, readyTimeoutMs);
  if (calledOff.aborted) onCalledOff();
  calledOff.addEventListener('abort', onCalledOff, { once: true });
  return {
    signal: over.signal,
    /** Ends the start; the first failure counts. */
    fail,
    /** What a start that threw `error` is answered with. */
    errorOf: (error: unknown, lastLines: readonly string[]): unknown =>
      over.signal.aborted ? new AgentStartError(over.signal.reason as AgentStartFailure, lastLines) : error,
    /** Takes the listener and the timer away. */
    release: (): void => {
      clearTimeout(timer);
      calledOff.removeEventListener('abort', onCalledOff);
    },
  };
}
