import { status } from '@grpc/grpc-js';
import { QueryNotRegisteredError, WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import type { Progress, ReleaseResult } from '../../../../src/domain/release/release.ts';
import type { HistoryRow, Lookup } from '../../../../src/domain/target/targetState.ts';
import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import {
  follow,
  type FollowEvent,
  type FollowOptions,
} from '../../../../src/temporal/client/release/follow.ts';
import { answeringTemporal, grpcError } from '../answeringTemporal.ts';

const TARGET = 'target:x:greeter';

/** The successive answers of the target and its releases. The last one repeats. */
interface Script {
  readonly lookup: readonly (Lookup | null | Error)[];
  /** The answer of the target once it was started again. */
  readonly startedAgain?: Lookup;
  readonly children?: Readonly<
    Record<string, { readonly progress: readonly Progress[]; readonly result: ReleaseResult | Error }>
  >;
  /** How often Temporal is asked for a release before it has started it. Default: 0. */
  readonly startsAfter?: number;
  /** The workflows that Temporal was asked to describe. */
  readonly described?: string[];
}

/** A Temporal that answers from a script: all calls of `follow` to the SDK's client. */
function scripted(script: Script): TemporalConnection {
  const lookups = [...script.lookup];
  let asked = 0;
  const progresses = new Map(
    Object.entries(script.children ?? {}).map(([id, child]) => [id, [...child.progress]]),
  );
  const next = <T>(queue: T[]): T => (queue.length > 1 ? queue.shift()! : queue[0]!);
  const getHandle = (id: string) => ({
    describe: () => {
      script.described?.push(id);
      return id === TARGET || (progresses.has(id) && ++asked > (script.startsAfter ?? 0))
        ? Promise.resolve({
            typedSearchAttributes: { get: () => 'greeter' },
            status: { name: (progresses.get(id)?.length ?? 0) > 0 ? 'RUNNING' : 'COMPLETED' },
            raw: { pendingActivities: [] },
          })
        : Promise.reject(new WorkflowNotFoundError('there is none', id, undefined));
    },
    query: () => {
      if (id !== TARGET) return Promise.resolve(progresses.get(id)!.shift());
      const answer = next(lookups);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    result: () => {
      const { result } = script.children![id]!;
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
  });
  const start = () => Promise.resolve(void lookups.splice(0, 1, script.startedAgain ?? null));
  return answeringTemporal({
    workflow: { getHandle, start },
    // Each read is answered at once; with no position after the last event.
    workflowService: {
      getWorkflowExecutionHistory: ({ execution }: { execution: { workflowId: string } }) =>
        Promise.resolve({ nextPageToken: progresses.get(execution.workflowId)?.length ? [1] : [] }),
    },
  });
}

async function collect(script: Script, options: Partial<FollowOptions> = {}): Promise<FollowEvent[]> {
  const events: FollowEvent[] = [];
  for await (const event of follow(scripted(script), TARGET, { id: 'release-1', ...options })) {
    events.push(event);
  }
  return events;
}

const running: Lookup = { state: 'running', releaseId: 'release-1', workflowId: `${TARGET}/release-1` };
const progress = {
  releaseId: 'release-1',
  phase: 'patch',
  steps: [],
  verdicts: [],
  outcome: null,
} as unknown as Progress;
const result = {
  releaseId: 'release-1',
  kind: 'release',
  outcome: 'released',
  steps: [],
} as unknown as ReleaseResult;
const row = { releaseId: 'release-1', outcome: 'superseded' } as unknown as HistoryRow;

describe('following', () => {
  it('reports that the release waits, starts, continues and ends', async () => {
    const events = await collect({
      lookup: [{ state: 'queued', reason: 'next' }, { state: 'queued', reason: 'next' }, running],
      children: { [running.workflowId]: { progress: [progress, progress], result } },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['queued', 'started', 'progress', 'progress', 'ended']);
    expect(events.at(-1)).toEqual({ kind: 'ended', ending: { from: 'result', result } });
  });

  it('describes a release once when it begins', async () => {
    const described: string[] = [];
    const children = { [running.workflowId]: { progress: [progress], result } };
    const events = await collect({ lookup: [running], children, described });
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'progress', 'progress', 'ended']);
    expect(described).toEqual([running.workflowId]);
  });

  it('reports the whole course of a release that Temporal has not started yet', async () => {
    const events = await collect({
      lookup: [running],
      children: { [running.workflowId]: { progress: [progress, progress], result } },
      startsAfter: 1,
    });
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'progress', 'progress', 'ended']);
  });

  it('ends with the row of a release that never started', async () => {
    const events = await collect({ lookup: [{ state: 'ended', row }] });
    expect(events).toEqual([{ kind: 'ended', ending: { from: 'history', row } }]);
  });

  it('reports the whole course of a release that ended before the first read', async () => {
    const events = await collect({
      lookup: [{ state: 'ended', row: { ...row, outcome: 'released' } }],
      children: { [`${TARGET}/release-1`]: { progress: [], result } },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'progress', 'ended']);
    expect(events.at(-1)).toEqual({ kind: 'ended', ending: { from: 'result', result } });
  });

  it('ends with the target’s row if the release’s workflow failed', async () => {
    const errored = { ...row, outcome: 'errored' } as HistoryRow;
    const broke = new WorkflowFailedError('terminated', undefined, 'NON_RETRYABLE_FAILURE');
    const events = await collect({
      // For a moment, the target still reports it as running, because it has not received the end.
      lookup: [running, running, { state: 'ended', row: errored }],
      children: { [running.workflowId]: { progress: [], result: broke } },
    });
    expect(events.map(({ kind }) => kind)).toEqual(['started', 'ended']);
    expect(events.at(-1)).toEqual({ kind: 'ended', ending: { from: 'history', row: errored } });
  });

  it('ends with the whole result of a release that needs a person, whose workflow failed with it', async () => {
    const stuck = { ...result, outcome: 'rollback_failed', reason: 'nothing serves' } as ReleaseResult;
    const cause = ApplicationFailure.nonRetryable(stuck.reason, 'rollback_failed', stuck);
    const failed = new WorkflowFailedError('failed', cause, 'NON_RETRYABLE_FAILURE');
    const events = await collect({
      lookup: [running],
      children: { [running.workflowId]: { progress: [], result: failed } },
    });
    expect(events.at(-1)).toEqual({ kind: 'ended', ending: { from: 'result', result: stuck } });
  });

  it('follows a rollback past the release that ended before the preemption arrived', async () => {
    const rollback: Lookup = {
      state: 'running',
      releaseId: 'rollback-2',
      workflowId: `${TARGET}/rollback-2`,
    };
    const undone = {
      ...result,
      releaseId: 'rollback-2',
      kind: 'rollback',
      outcome: 'rolled_back',
    } as ReleaseResult;
    const events = await collect(
      {
        lookup: [running, running, rollback, { state: 'ended', row: { ...row, releaseId: 'rollback-2' } }],
        children: {
          [running.workflowId]: { progress: [], result },
          [rollback.workflowId]: { progress: [], result: undone },
        },
      },
      { id: 'request-7' },
    );
    expect(events.filter(({ kind }) => kind === 'started')).toHaveLength(2);
    expect(events.at(-1)).toEqual({ kind: 'ended', ending: { from: 'result', result: undone } });
  });

  it('starts a terminated target again, which would never start what it queued', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const ended = collect({
      lookup: [{ state: 'queued', reason: 'next' }],
      startedAgain: { state: 'ended', row },
    });
    await vi.advanceTimersByTimeAsync(6_000);
    expect((await ended).map(({ kind }) => kind)).toEqual(['queued', 'ended']);
  });

  it('gives up on a release that the target does not know', async () => {
    expect(await collect({ lookup: [null] })).toEqual([{ kind: 'gave_up', why: 'unknown' }]);
  });

  it('continues through silence, and gives up on a timeout', async () => {
    const events = await collect({ lookup: [grpcError('UNAVAILABLE')] }, { timeoutMs: 50 });
    expect(events).toEqual([{ kind: 'gave_up', why: 'timeout' }]);
  });

  it('continues after an absent worker returns', async () => {
    const events = await collect({ lookup: [grpcError('FAILED_PRECONDITION'), { state: 'ended', row }] });
    expect(events.at(-1)?.kind).toBe('ended');
  });

  it('continues while a worker cannot replay the release', async () => {
    const failed = new QueryNotRegisteredError('[TMPRL1100] Nondeterminism error', status.INVALID_ARGUMENT);
    const events = await collect({ lookup: [failed, { state: 'ended', row }] });
    expect(events.at(-1)?.kind).toBe('ended');
  });

  it('stops when its signal aborts', async () => {
    const events = await collect({ lookup: [] }, { signal: AbortSignal.abort() });
    expect(events).toEqual([{ kind: 'gave_up', why: 'stopped' }]);
  });

  it('ends with the error if Temporal rejects the read', async () => {
    await expect(collect({ lookup: [grpcError('PERMISSION_DENIED')] })).rejects.toMatchObject({
      code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    });
  });
});
