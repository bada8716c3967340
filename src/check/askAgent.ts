import { observeRun, type ObservedStream } from '../clients/observeRun.ts';
import type { RunApiClient } from '../clients/runApi.ts';
import { ANSWER_CHECKS } from '../config/answerSchema.ts';
import type { Check, Turn } from '../domain/check/check.ts';
import { judge, type Judgement } from '../domain/check/judge.ts';
import { showsBoth, trajectoryOf } from '../domain/check/trajectory.ts';
import { SlipwayError } from '../domain/errors.ts';

/** The client methods that checks use. */
export type CheckedAgent = Pick<
  RunApiClient,
  'streamStatelessRun' | 'streamRun' | 'createThread' | 'deleteThread'
>;

/** The result of asking an agent once. */
export interface Answered {
  readonly judgement: Judgement;
  /** The last run, with its time. Of a conversation: the time of all its runs. */
  readonly seen: ObservedStream;
  readonly runs: number;
  /** The tokens that the agent's messages report. 0 if they report none. */
  readonly tokens: number;
}

export interface ConversationThread {
  /** The id to ask for. The agent may choose another (contract 001, "Endpoints"). */
  readonly id: string;
  /** Called if the thread could not be removed and stays at the agent, with the id that the agent chose. */
  readonly onLeft: (threadId: string, error: unknown) => void;
}

/** Timeout of removing a thread, in milliseconds. It is separate from the check's, which may be canceled by then. */
const REMOVAL_MS = 5_000;

/**
 * Asks an agent once and judges the answer: one stateless run, or the runs of a conversation
 * on a thread that is removed afterwards.
 * @param canceled - aborts the runs; the client's error is thrown then.
 * @throws ServiceError if the agent cannot be asked; SlipwayError BAD_ANSWER if a stream broke off.
 */
export async function askAgent(
  agent: CheckedAgent,
  check: Check,
  thread: ConversationThread,
  canceled: AbortSignal,
): Promise<Answered> {
  const { turns, input, expect } = check;
  if (turns !== undefined) return converse(agent, check, turns, thread, canceled);
  const seen = await observeRun(agent, { ...check, input }, canceled);
  return { judgement: judge(expect, seen.run, ANSWER_CHECKS), seen, runs: 1, tokens: tokensOf(seen) };
}

async function converse(
  agent: CheckedAgent,
  { name, assistant, timeoutMs, feedbackKey }: Check,
  turns: readonly Turn[],
  { id, onLeft }: ConversationThread,
  signal: AbortSignal,
): Promise<Answered> {
  const create = async () =>
    agent.createThread({ thread_id: id, metadata: { slipway_check: name } }, { signal });
  const { thread_id: threadId } = await create().catch(async (error: unknown) => {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_CONFLICT') throw error;
    // `temporal activity reset` counts attempts from 1 again, and a dead worker's attempt 1 left its thread.
    await removeThread(agent, id);
    return create();
  });
  try {
    let latencyMs = 0;
    let tokens = 0;
    let before: ObservedStream | undefined;
    for (const [index, { expect, input, resume }] of turns.entries()) {
      const run = { assistant, timeoutMs, feedbackKey, threadId, input, resume };
      const seen = await observeRun(agent, run, signal);
      latencyMs += seen.run.latencyMs;
      tokens += tokensOf(seen);
      const isCounted = resume !== undefined && showsBoth(before?.run.values, seen.run.values);
      if (isCounted && before !== undefined) tokens -= tokensOf(before);
      before = seen;
      const judgement = judge(expect, seen.run, ANSWER_CHECKS);
      const runs = index + 1;
      if (judgement.passed && runs < turns.length) continue;
      const reasons = judgement.reasons.map((reason) => `turn ${runs} of ${turns.length}: ${reason}`);
      return {
        judgement: { ...judgement, reasons },
        seen: { ...seen, run: { ...seen.run, latencyMs } },
        runs,
        tokens,
      };
    }
    throw new TypeError('a conversation has at least one turn');
  } finally {
    await removeThread(agent, threadId).catch((error: unknown) => onLeft(threadId, error));
  }
}

function tokensOf({ run }: ObservedStream): number {
  return trajectoryOf(run.values)?.tokens ?? 0;
}

/** Removes the thread of a conversation, also after its check failed or was canceled. */
export async function removeThread(agent: CheckedAgent, threadId: string): Promise<void> {
  await agent.deleteThread(threadId, { signal: AbortSignal.timeout(REMOVAL_MS), timeoutMs: REMOVAL_MS });
}
