import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';

import type { RunningCall } from '../../../domain/heartbeat.ts';
import type { Progress, ReleaseResult } from '../../../domain/release/release.ts';
import {
  type FinalAnswer,
  type HistoryRow,
  isFinal,
  type Lookup,
} from '../../../domain/target/targetState.ts';
import { workflowResult } from '../../../domain/workflowResult.ts';
import { progressQuery } from '../../../messages/release.ts';
import { lookupQuery } from '../../../messages/target.ts';
import { rejected } from '../ask.ts';
import type { TemporalConnection } from '../connection.ts';
import { refuseStuck } from '../stuckTask.ts';
import { isTemporalSilent, isWorkerSilent, temporalError } from '../temporalError.ts';
import { pause } from '../pause.ts';
import { HistoryNews } from './historyNews.ts';
import { runningCallOf } from './pastReleases.ts';

export type FollowEvent =
  | { readonly kind: 'queued'; readonly reason: string }
  | { readonly kind: 'started'; readonly releaseId: string; readonly workflowId: string }
  | { readonly kind: 'progress'; readonly progress: Progress; readonly call: RunningCall | null }
  /** Temporal or the worker has not answered since then (milliseconds since 1970). The release goes on if it can. */
  | { readonly kind: 'silent'; readonly who: 'worker' | 'temporal'; readonly since: number }
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

const QUEUE_LOOK_MS = 400;
/** The shortest interval between two queries to a release. Its end is seen at once. */
const SPACING_MS = 250;
/** The longest interval, because an activity's heartbeats add no event. */
const LONGEST_WAIT_MS = 2_000;
const CALL_TIMEOUT_MS = 5_000;
/** A silence shorter than this is not reported: a worker that restarts does not answer for a moment. */
export const SILENCE_TOLD_AFTER_MS = 3_000;

/**
 * Follows a release or a rollback to its end. If the worker or Temporal does not answer, reports that and keeps
 * asking. The last event is `ended`, `answered` or `gave_up`.
 *
 * @throws SlipwayError if Temporal rejects all calls (credentials, namespace), or the target the request.
 */
export async function* follow(
  temporal: TemporalConnection,
  workflowId: string,
  options: FollowOptions,
): AsyncGenerator<FollowEvent, void> {
  const { id, timeoutMs, signal } = options;
  const deadline = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
  const trail = new Trail(temporal, workflowId, id);
  let silentSince: number | undefined;
  let reported: 'worker' | 'temporal' | undefined;

  for (;;) {
    if (signal?.aborted === true) {
      yield { kind: 'gave_up', why: 'stopped' };
      return;
    }
    if (Date.now() >= deadline) {
      yield { kind: 'gave_up', why: 'timeout' };
      return;
    }
    try {
      const events = await trail.ask();
      if (reported !== undefined) yield { kind: 'answering' };
      silentSince = reported = undefined;
      for (const event of events) {
        yield event;
        if (event.kind === 'ended' || event.kind === 'answered' || event.kind === 'gave_up') return;
      }
    } catch (error) {
      const who = whoIsSilent(error);
      if (who === undefined) throw temporalError(error, temporal.settings);
      silentSince ??= Date.now();
      if (reported !== who && Date.now() - silentSince >= SILENCE_TOLD_AFTER_MS) {
        if (who === 'worker') await refuseStuck(temporal, trail.asked);
        reported = who;
        yield { kind: 'silent', who, since: silentSince };
      }
    }
    await trail.wait(Math.max(deadline - Date.now(), 0), signal);
  }
}

/** Where the request is, as far as is known. */
class Trail {
  readonly #temporal: TemporalConnection;
  readonly #targetId: string;
  /** Changes if the request joins an earlier one. */
  #id: string;
  #queueReason: string | undefined;
  #running: { readonly releaseId: string; readonly workflowId: string } | undefined;
  /** The last workflow that ended, and its result. A rollback has ended only once the target says so. */
  #ended: { readonly workflowId: string; readonly result: ReleaseResult | undefined } | undefined;
  #progress = '';
  #news: HistoryNews | undefined;
  /** Whether the running workflow is known to have ended. */
  #hasEnded = false;

  constructor(temporal: TemporalConnection, targetId: string, id: string) {
    this.#temporal = temporal;
    this.#targetId = targetId;
    this.#id = id;
  }

  get asked(): string {
    return this.#running?.workflowId ?? this.#targetId;
  }

  ask(): Promise<readonly FollowEvent[]> {
    return this.#running === undefined ? this.#askTarget() : this.#askChild(this.#running.workflowId);
  }

  /** Waits until there may be news, at most this long. */
  async wait(atMostMs: number, signal: AbortSignal | undefined): Promise<void> {
    const workflowId = this.#running?.workflowId;
    if (workflowId === undefined) return pause(Math.min(QUEUE_LOOK_MS, atMostMs), signal);
    if (this.#news?.workflowId !== workflowId)
      this.#news = new HistoryNews(this.#temporal, workflowId, SPACING_MS);
    this.#hasEnded = await this.#news.wait(Math.min(LONGEST_WAIT_MS, atMostMs), signal);
  }

  async #askTarget(): Promise<readonly FollowEvent[]> {
    const lookup = await this.#query(() =>
      this.#temporal.client.workflow.getHandle(this.#targetId).query(lookupQuery, this.#id),
    );
    if (lookup === null) return [{ kind: 'gave_up', why: 'unknown' }];
    return lookup.state === 'ended' ? this.#tellEnd(lookup.row) : this.#read(lookup);
  }

  #read(lookup: Exclude<Lookup, { readonly state: 'ended' }>): readonly FollowEvent[] {
    switch (lookup.state) {
      case 'queued': {
        if (lookup.reason === this.#queueReason) return [];
        this.#queueReason = lookup.reason;
        return [{ kind: 'queued', reason: lookup.reason }];
      }
      case 'running': {
        const { releaseId, workflowId } = lookup;
        // The target does not know yet that it has ended.
        if (workflowId === this.#ended?.workflowId) return [];
        this.#running = { releaseId, workflowId };
        this.#progress = '';
        this.#hasEnded = false;
        return [{ kind: 'started', releaseId, workflowId }];
      }
      case 'answered': {
        const { answer } = lookup;
        if (isFinal(answer)) return [{ kind: 'answered', answer }];
        if (answer.requestId === this.#id) return [{ kind: 'gave_up', why: 'unknown' }];
        this.#id = answer.requestId;
        return [];
      }
      case 'refused':
        throw rejected(lookup.reason);
    }
  }

  /** Reports the end with the whole progress; for a release that never started, with its row. */
  async #tellEnd(row: HistoryRow): Promise<readonly FollowEvent[]> {
    const known = this.#ended?.result;
    if (known?.releaseId === row.releaseId)
      return [{ kind: 'ended', ending: { from: 'result', result: known } }];
    const { releaseId } = row;
    const workflowId = `${this.#targetId}/${releaseId}`;
    const asked = this.#ended?.workflowId === workflowId ? [] : await this.#askChild(workflowId);
    const result = this.#ended?.workflowId === workflowId ? this.#ended.result : undefined;
    const ending: Ending = result === undefined ? { from: 'history', row } : { from: 'result', result };
    const story = asked.filter((event) => event.kind !== 'ended');
    const begins: FollowEvent[] = story.length === 0 ? [] : [{ kind: 'started', releaseId, workflowId }];
    return [...begins, ...story, { kind: 'ended', ending }];
  }

  async #askChild(workflowId: string): Promise<readonly FollowEvent[]> {
    const handle = this.#temporal.client.workflow.getHandle(workflowId);
    const events: FollowEvent[] = [];
    try {
      const described = this.#hasEnded ? undefined : await this.#call(() => handle.describe());
      if (described?.status.name === 'RUNNING') {
        const progress = await this.#query(() => handle.query(progressQuery));
        const call = (await runningCallOf(this.#temporal.settings, described)) ?? progress.found ?? null;
        const seen = JSON.stringify([progress, call]);
        if (seen !== this.#progress) events.push({ kind: 'progress', progress, call });
        this.#progress = seen;
        return events;
      }
      const result = await this.#call(() => workflowResult<ReleaseResult>(handle));
      events.push({ kind: 'progress', progress: asProgress(result), call: null });
      return [...events, ...this.#end(workflowId, result)];
    } catch (error) {
      // Terminated or gone: the target knows how it ended.
      if (!(error instanceof WorkflowFailedError) && !(error instanceof WorkflowNotFoundError)) throw error;
      return [...events, ...this.#end(workflowId, undefined)];
    }
  }

  #end(workflowId: string, result: ReleaseResult | undefined): readonly FollowEvent[] {
    this.#running = undefined;
    this.#ended = { workflowId, result };
    return result?.releaseId === this.#id ? [{ kind: 'ended', ending: { from: 'result', result } }] : [];
  }

  /** Sends a query. If Temporal answers but the worker does not, throws {@link WorkerSilent}. */
  async #query<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await this.#call(question);
    } catch (error) {
      if (!isTemporalSilent(error)) throw error;
      await this.#call(() => this.#temporal.client.workflow.getHandle(this.#targetId).describe());
      throw new WorkerSilent(error);
    }
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return this.#temporal.client.withDeadline(Date.now() + CALL_TIMEOUT_MS, call);
  }
}

/** A result as the `progress` query would have returned it: the last steps end too fast to be queried. */
function asProgress(result: ReleaseResult): Progress {
  return { ...result, phase: result.outcome, waiting: null };
}

class WorkerSilent extends Error {
  constructor(cause: unknown) {
    super('no worker answers', { cause });
    this.name = 'WorkerSilent';
  }
}

function whoIsSilent(error: unknown): 'worker' | 'temporal' | undefined {
  if (error instanceof WorkerSilent || isWorkerSilent(error)) return 'worker';
  return isTemporalSilent(error) ? 'temporal' : undefined;
}
