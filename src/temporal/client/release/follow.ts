import {
  QueryNotRegisteredError,
  type WorkflowExecutionDescription,
  WorkflowFailedError,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { RunningCall } from '../../../domain/heartbeat.ts';
import type { Progress, ReleaseResult } from '../../../domain/release/release.ts';
import { type FinalAnswer, type HistoryRow, isFinal } from '../../../domain/target/targetState.ts';
import { workflowResult } from '../../../domain/workflowResult.ts';
import { progressQuery } from '../../../messages/release.ts';
import { lookupQuery } from '../../../messages/target.ts';
import { rejected } from '../ask.ts';
import { describeWorkflow, type TemporalConnection } from '../connection.ts';
import { refuseStuck, startAgain } from '../stuckTask.ts';
import { isTemporalSilent, isWorkerSilent, temporalError } from '../temporalError.ts';
import { pause } from '../pause.ts';
import { whyNoAnswer } from '../workerPresence.ts';
import { HistoryNews } from './historyNews.ts';
import { runningCallOf } from './pastReleases.ts';

export type FollowEvent =
  | { readonly kind: 'queued'; readonly reason: string }
  | { readonly kind: 'started'; readonly releaseId: string; readonly workflowId: string }
  | { readonly kind: 'progress'; readonly progress: Progress; readonly call: RunningCall | null }
  /**
   * Temporal or the worker has not answered since then (milliseconds since 1970). The release goes on if it can. `why`:
   * no worker polls that could answer.
   */
  | {
      readonly kind: 'silent';
      readonly who: 'worker' | 'temporal';
      readonly since: number;
      readonly why?: string;
    }
  | { readonly kind: 'answering' }
  | { readonly kind: 'ended'; readonly ending: Ending }
  /** The target answered the rollback request only now, and nothing runs for it. */
  | { readonly kind: 'answered'; readonly answer: FinalAnswer }
  | { readonly kind: 'gave_up'; readonly why: 'timeout' | 'stopped' | 'unknown' };

/** How it ended: the whole result, or only the target's row if the release never started or broke. */
export type Ending =
  | { readonly from: 'result'; readonly result: ReleaseResult }
  | { readonly from: 'history'; readonly row: HistoryRow };

export interface FollowOptions {
  /** A release's id, or a rollback's request id. */
  readonly id: string;
  /** When to give up, in milliseconds. Default: never. */
  readonly timeoutMs?: number;
  /** Stops following; the release goes on. */
  readonly signal?: AbortSignal;
}

/** Between two questions to the target, and to a workflow that does not answer. */
const LOOK_MS = 400;
/** How often to find out whether the target was terminated, in milliseconds. */
const LOOK_WHETHER_ENDED_MS = 5_000;
/** The shortest interval between two queries to a release. Its end is seen at once. */
const SPACING_MS = 250;
/** The longest interval, because an activity's heartbeats add no event. */
const LONGEST_WAIT_MS = 2_000;
/** The time for one look, which is up to two calls. */
const CALL_TIMEOUT_MS = 5_000;
/** A silence shorter than this is not reported: a worker that restarts does not answer for a moment. */
const SILENCE_TOLD_AFTER_MS = 3_000;

/**
 * Follows a release or a rollback to its end. If the worker or Temporal does not answer, reports that and keeps
 * asking. The last event is `ended`, `answered` or `gave_up`.
 *
 * @throws SlipwayError if Temporal rejects all calls (credentials, namespace), or the target the request.
 */
export async function* follow(
  temporal: TemporalConnection,
  targetId: string,
  { id, timeoutMs = Infinity, signal }: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  try {
    yield* followTarget({ temporal, targetId, deadline: Date.now() + timeoutMs, signal }, id);
  } catch (error) {
    if (!(error instanceof GaveUp)) throw error;
    yield { kind: 'gave_up', why: error.why };
  }
}

interface Following {
  readonly temporal: TemporalConnection;
  readonly targetId: string;
  /** Milliseconds since 1970. */
  readonly deadline: number;
  readonly signal: AbortSignal | undefined;
}

/** @param id - changes if a rollback request joined an earlier one. */
async function* followTarget(following: Following, id: string): AsyncGenerator<FollowEvent, void> {
  const { temporal, targetId, signal } = following;
  const target = temporal.client.workflow.getHandle(targetId);
  let toldReason: string | undefined;
  let looksWhetherEndedAt = Date.now() + LOOK_WHETHER_ENDED_MS;
  /** The last workflow that ended. A rollback has ended only once the target says so. */
  let last: { readonly workflowId: string; readonly result: ReleaseResult | undefined } | undefined;
  for (;;) {
    const lookup = yield* answerOf(following, targetId, () => target.query(lookupQuery, id));
    switch (lookup?.state) {
      case undefined:
        throw new GaveUp('unknown');
      case 'queued': {
        if (lookup.reason !== toldReason) yield { kind: 'queued', reason: lookup.reason };
        toldReason = lookup.reason;
        break;
      }
      case 'running': {
        const { releaseId, workflowId } = lookup;
        // The target does not know yet that it has ended.
        if (workflowId === last?.workflowId) break;
        const describe = () => describeWorkflow(temporal, workflowId);
        // Temporal has not started yet what the target has begun.
        const described = yield* answerOf(following, workflowId, describe);
        if (described === undefined) break;
        yield { kind: 'started', releaseId, workflowId };
        const result = yield* followWork(following, workflowId, described);
        last = { workflowId, result };
        if (result?.releaseId !== id) break;
        yield { kind: 'ended', ending: { from: 'result', result } };
        return;
      }
      case 'ended': {
        const { row } = lookup;
        const wasFollowed = last?.workflowId === `${targetId}/${row.releaseId}`;
        const result = wasFollowed ? last?.result : yield* seenEnded(following, row);
        yield {
          kind: 'ended',
          ending: result === undefined ? { from: 'history', row } : { from: 'result', result },
        };
        return;
      }
      case 'answered': {
        const { answer } = lookup;
        if (isFinal(answer)) {
          yield { kind: 'answered', answer };
          return;
        }
        if (answer.requestId === id) throw new GaveUp('unknown');
        id = answer.requestId;
        break;
      }
      case 'refused':
        throw rejected(lookup.reason);
    }
    // A terminated target would never start what it queued, nor learn how its work ended.
    if (Date.now() >= looksWhetherEndedAt) {
      yield* answerOf(following, targetId, () => startAgain(temporal, targetId));
      looksWhetherEndedAt = Date.now() + LOOK_WHETHER_ENDED_MS;
    }
    await pause(atMost(following, LOOK_MS), signal);
  }
}

/** Shows the work of a release or a rollback that has ended unseen. @returns its result; `undefined` if it has none. */
async function* seenEnded(
  following: Following,
  { releaseId }: HistoryRow,
): AsyncGenerator<FollowEvent, ReleaseResult | undefined> {
  const workflowId = `${following.targetId}/${releaseId}`;
  const look = () => lookAt(following.temporal, workflowId);
  const { progress, call, result } = yield* answerOf(following, workflowId, look);
  if (progress !== undefined) {
    yield { kind: 'started', releaseId, workflowId };
    yield { kind: 'progress', progress, call };
  }
  return result;
}

/** Follows the workflow of a release or a rollback. @returns its result; `undefined` if it has none. */
async function* followWork(
  following: Following,
  workflowId: string,
  described: WorkflowExecutionDescription,
): AsyncGenerator<FollowEvent, ReleaseResult | undefined> {
  const { temporal, signal } = following;
  const news = new HistoryNews(temporal, workflowId, SPACING_MS);
  let told = '';
  let known: Known = described;
  // A repeated look describes it again: it may have ended meanwhile.
  const look = () => {
    const before = known;
    known = undefined;
    return lookAt(temporal, workflowId, before);
  };
  for (;;) {
    const seen = yield* answerOf(following, workflowId, look);
    const { progress, call } = seen;
    const shown = JSON.stringify(seen);
    if (progress !== undefined && shown !== told) yield { kind: 'progress', progress, call };
    told = shown;
    if (!seen.runs) return seen.result;
    if (await news.wait(atMost(following, LONGEST_WAIT_MS), signal)) known = 'ended';
  }
}

interface Seen {
  readonly runs: boolean;
  /** Absent: the workflow is gone or was terminated. */
  readonly progress?: Progress;
  readonly call: RunningCall | null;
  readonly result?: ReleaseResult;
}

/** What is known of a workflow before a look: that it has ended, or how Temporal has just described it. */
type Known = WorkflowExecutionDescription | 'ended' | undefined;

async function lookAt(
  { client, settings }: TemporalConnection,
  workflowId: string,
  known?: Known,
): Promise<Seen> {
  const handle = client.workflow.getHandle(workflowId);
  try {
    const described = known ?? (await handle.describe());
    if (described !== 'ended' && described.status.name === 'RUNNING') {
      const progress = await handle.query(progressQuery);
      const call = (await runningCallOf(settings, described)) ?? progress.found ?? null;
      return { runs: true, progress, call };
    }
    const result = await workflowResult<ReleaseResult>(handle);
    // As the query would have returned it: the last steps end too fast to be queried.
    const progress = { ...result, phase: result.outcome, waiting: null };
    return { runs: false, progress, call: null, result };
  } catch (error) {
    // The target knows how it ended.
    if (!(error instanceof WorkflowFailedError) && !(error instanceof WorkflowNotFoundError)) throw error;
    return { runs: false, call: null };
  }
}

/**
 * Asks until there is an answer, and reports if that takes long.
 * @param workflowId - the workflow that is asked.
 * @throws GaveUp at the deadline, or if the signal is aborted.
 */
export async function* answerOf<T>(
  following: Following,
  workflowId: string,
  ask: () => Promise<T>,
): AsyncGenerator<FollowEvent, T> {
  const { temporal, deadline, signal } = following;
  let silentSince: number | undefined;
  let reported: string | undefined;
  for (;;) {
    if (signal?.aborted === true) throw new GaveUp('stopped');
    if (Date.now() >= deadline) throw new GaveUp('timeout');
    const askedAt = Date.now();
    try {
      const answer = await temporal.client.withDeadline(askedAt + CALL_TIMEOUT_MS, ask);
      if (reported !== undefined) yield { kind: 'answering' };
      return answer;
    } catch (error) {
      const who = await whoIsSilent(following, error);
      if (who === undefined) throw temporalError(error, temporal.settings);
      silentSince ??= askedAt;
      if (Date.now() - silentSince >= SILENCE_TOLD_AFTER_MS) {
        if (who === 'worker' && reported?.startsWith(who) !== true) await refuseStuck(temporal, workflowId);
        // Temporal shows the polls of a killed worker for a while.
        const why = who === 'worker' ? await whyNoAnswer(temporal, workflowId) : undefined;
        const news = `${who}${why === undefined ? '' : ' is gone'}`;
        if (reported !== news)
          yield {
            kind: 'silent',
            who,
            since: silentSince,
            ...(why && { why: `${why.message}: ${why.hint}` }),
          };
        reported = news;
      }
    }
    await pause(atMost(following, LOOK_MS), signal);
  }
}

/** Who does not answer; `undefined` if the error is an answer. */
async function whoIsSilent(
  { temporal: { client }, targetId }: Following,
  error: unknown,
): Promise<'worker' | 'temporal' | undefined> {
  // A worker that cannot replay the workflow answers with the reason.
  if (isWorkerSilent(error) || error instanceof QueryNotRegisteredError) return 'worker';
  if (!isTemporalSilent(error)) return undefined;
  // Temporal reports a query that no worker answers as out of time.
  const describe = () => client.workflow.getHandle(targetId).describe();
  return client.withDeadline(Date.now() + CALL_TIMEOUT_MS, describe).then(
    () => 'worker',
    () => 'temporal',
  );
}

function atMost({ deadline }: Following, ms: number): number {
  return Math.min(ms, Math.max(deadline - Date.now(), 0));
}

export class GaveUp extends Error {
  readonly why: 'timeout' | 'stopped' | 'unknown';

  constructor(why: GaveUp['why']) {
    super(why);
    this.why = why;
  }
}
