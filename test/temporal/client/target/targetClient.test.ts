import { status } from '@grpc/grpc-js';
import {
  QueryNotRegisteredError,
  WorkflowFailedError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ApplicationFailure, TerminatedFailure } from '@temporalio/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import {
  readProgress,
  rollBack,
  submitRelease,
  viewTarget,
} from '../../../../src/temporal/client/target/targetClient.ts';
import { request, runs, seasoned } from '../../../domain/target/targets.ts';
import { EMPTY_TARGET } from '../../../../src/domain/target/targetState.ts';
import { keyMissing } from '../../../../src/temporal/codec/payloadCipher.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../answeringTemporal.ts';

/** It has no pending workflow task. */
const NOT_STUCK = { raw: {}, status: { name: 'RUNNING' } };

const TERMINATED = new WorkflowFailedError(
  'it failed',
  new TerminatedFailure('by hand'),
  'NON_RETRYABLE_FAILURE',
);

const away = (): Promise<never> => Promise.reject(grpcError('UNAVAILABLE'));
const sealed = (): Promise<never> => Promise.reject(keyMissing({ metadata: {}, data: new Uint8Array() }));

/** gRPC's two errors for a call that timed out. */
const OUT_OF_TIME = [
  ['here', 'DEADLINE_EXCEEDED'],
  ['there', 'CANCELLED'],
] as const;

describe.each(OUT_OF_TIME)('if the time of %s ends first (%s)', (_where, name) => {
  const outOfTime = (): Promise<never> => Promise.reject(grpcError(name));

  it('the error names the worker if Temporal answers and the target’s query does not', async () => {
    const asked = viewTarget(targetThat(outOfTime), 'target:x:greeter');
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER' });
  });

  it('the error names Temporal if Temporal itself does not answer', async () => {
    const asked = viewTarget(targetThat(outOfTime, outOfTime), 'target:x:greeter');
    await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
  });
});

it('the error names the version that a target without workers was pinned to by hand', async () => {
  const query = () => Promise.reject(grpcError('DEADLINE_EXCEEDED'));
  const asked = viewTarget(
    targetThat(query, () => Promise.resolve(pinnedTo('y'))),
    'target:x:greeter',
  );
  const message = 'no worker of version y polls the task queue "slipway"';
  await expect(asked).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER', message });
});

it.each([
  ['was terminated, too', () => Promise.reject(TERMINATED), 'errored'],
  ['never started', undefined, 'aborted'],
])('a terminated target whose release %s runs nothing', async (_, result, outcome) => {
  const running = runs('release-2');
  const ended = { describe: () => Promise.resolve({ status: { name: 'TERMINATED' } }) };
  const target = { ...ended, query: () => Promise.resolve({ state: seasoned(), running }) };
  const gone = { describe: () => Promise.reject(grpcError('NOT_FOUND')) };
  const release = result === undefined ? gone : { ...ended, result };
  const getHandle = (id: string) => (id === running.workflowId ? release : target);
  const view = await viewTarget(answeringTemporal({ workflow: { getHandle } }), 'target:x:greeter');
  expect(view?.running).toBeNull();
  expect(view?.state.history).toMatchObject([{ releaseId: 'release-2', outcome }]);
  expect(view?.state.needsPerson?.releaseId).toBe(outcome === 'errored' ? 'release-2' : undefined);
});

it('a release that its workers cannot replay has no progress to show', async () => {
  const failed = new QueryNotRegisteredError('[TMPRL1100] Nondeterminism error', status.INVALID_ARGUMENT);
  const temporal = targetThat(() => Promise.reject(failed));
  expect(await readProgress(temporal, 'target:x:greeter/release-1')).toBeUndefined();
});

describe('a submission without an answer', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  /** Submits, and advances the clock past the longest submission. */
  const submitted = (temporal: TemporalConnection): Promise<unknown> => {
    const answer = submitRelease(temporal, request('a'));
    answer.catch(() => undefined);
    return vi.advanceTimersByTimeAsync(10_000).then(() => answer);
  };
  const refused = (): Promise<never> => Promise.reject(grpcError('FAILED_PRECONDITION'));
  const timedOut = (): Promise<never> =>
    Promise.reject(new WorkflowUpdateRPCTimeoutOrCancelledError('out of time'));
  it.each([
    ['SLIPWAY_NO_WORKER', 6, timedOut],
    ['SLIPWAY_TEMPORAL_UNREACHABLE', 6, away],
    ['SLIPWAY_PAYLOAD_KEY_MISSING', 1, sealed],
  ])('is withdrawn under its own id before the command ends with %s', async (code, exitCode, submit) => {
    const ids: unknown[] = [];
    const temporal = submitting(
      (updateId) => {
        ids.push(updateId);
        return submit();
      },
      ({ signalArgs: [message] }) => {
        ids.push(message.submission);
        return Promise.resolve();
      },
    );
    await expect(submitted(temporal)).rejects.toMatchObject({
      code,
      exitCode,
      message: expect.stringContaining('the release was withdrawn') as string,
    });
    expect(new Set(ids).size).toBe(1);
  });

  it.each([
    ['gives no answer', timedOut],
    ['refuses it because the task of the target times out', refused],
  ])('is sent again under its id while the worker is busy and Temporal %s', async (_, submit) => {
    const ids: unknown[] = [];
    const worker = { lastAccessTime: { seconds: Math.floor(Date.now() / 1_000) } };
    const temporal = submitting(
      (updateId) => {
        ids.push(updateId);
        worker.lastAccessTime.seconds++;
        return ids.length < 4 ? submit() : Promise.resolve({ result: () => Promise.resolve('taken') });
      },
      away,
      worker,
    );
    await expect(submitted(temporal)).resolves.toBe('taken');
    expect(new Set(ids).size).toBe(1);
  });

  it('names the version that a person has pinned the target to, if it has no workers', async () => {
    const temporal = submitting(timedOut, () => Promise.resolve(), undefined, pinnedTo('v9'));
    await expect(submitted(temporal)).rejects.toMatchObject({
      message: expect.stringMatching(
        /because no worker of version v9 .*; the release was withdrawn/u,
      ) as string,
      hint: expect.stringContaining('slipway worker rollout') as string,
    });
  });

  it('that cannot be withdrawn may still start, and the error says so', async () => {
    await expect(submitted(submitting(timedOut, away))).rejects.toMatchObject({
      code: 'SLIPWAY_NO_WORKER',
      exitCode: 6,
      message: expect.stringContaining('may still start') as string,
    });
  });
});

describe('a target that was reset a moment ago, and refuses what it gets until it has read its earlier state,', () => {
  const answer = { releaseId: 'release-2', disposition: 'queued' };
  /** Refuses the first update, and reads its state while it is queried twice. */
  const temporalAt = (read: object) => {
    const updates: string[] = [];
    const update = (updateId: string): Promise<string> => {
      updates.push(updateId);
      if (updates.length > 1) return Promise.resolve('taken');
      const failure = ApplicationFailure.nonRetryable('it was reset', 'SLIPWAY_TARGET_UNREADABLE');
      return Promise.reject(new WorkflowUpdateFailedError('refused', failure));
    };
    const views: object[] = [{ state: EMPTY_TARGET, recovering: true }, read];
    const query = () => Promise.resolve(views.length > 1 ? views.shift() : views[0]);
    const temporal = answeringTemporal({
      workflow: {
        startUpdateWithStart: (_: unknown, { updateId }: { updateId: string }) =>
          update(updateId).then((result) => ({ result: () => Promise.resolve(result) })),
        getHandle: () => ({
          query,
          describe: () => Promise.resolve(NOT_STUCK),
          executeUpdate: (_: unknown, { updateId }: { updateId: string }) => update(updateId),
        }),
      },
    });
    return { temporal, updates };
  };

  it('gets a release again, under an id that its withdrawal counts for, too', async () => {
    const { temporal, updates } = temporalAt({ state: EMPTY_TARGET });
    expect(await submitRelease(temporal, request('a'))).toBe('taken');
    expect(updates).toHaveLength(2);
    expect(updates[1]).toMatch(new RegExp(`^${updates[0]} .`, 'u'));
  });

  it('does not get a release again that it took before its reset', async () => {
    const { temporal, updates } = temporalAt({
      get state() {
        return { ...EMPTY_TARGET, submissions: [{ id: updates[0], answer }] };
      },
    });
    expect(await submitRelease(temporal, request('a'))).toEqual(answer);
    expect(updates).toHaveLength(1);
  });

  it('gets a rollback again, under another id', async () => {
    const { temporal, updates } = temporalAt({ state: EMPTY_TARGET });
    expect(await rollBack(temporal, 'target:x:greeter', {})).toMatchObject({ via: 'update' });
    expect(new Set(updates).size).toBe(2);
  });

  it('gets nothing again if it cannot read that state', async () => {
    const hold = { since: '', by: { who: 'slipway', from: 'recovery' } };
    const { temporal, updates } = temporalAt({ state: { ...EMPTY_TARGET, hold }, recovering: true });
    const code = 'SLIPWAY_TARGET_UNREADABLE';
    await expect(submitRelease(temporal, request('a'))).rejects.toMatchObject({ code });
    expect(updates).toHaveLength(1);
  });
});

it.each([
  ['that Temporal does not answer', 'SLIPWAY_TEMPORAL_UNREACHABLE', away],
  ['whose answer has a key that is missing here', 'SLIPWAY_PAYLOAD_KEY_MISSING', sealed],
])('a rollback %s may still happen, and the error says so', async (_, code, executeUpdate) => {
  const temporal = answeringTemporal({ workflow: { getHandle: () => ({ executeUpdate }) } });
  await expect(rollBack(temporal, 'target:x:greeter', {})).rejects.toMatchObject({
    code,
    message: expect.stringContaining('may still happen') as string,
  });
});

function submitting(
  submit: (updateId: string) => Promise<unknown>,
  withdraw: (options: { readonly signalArgs: readonly [{ readonly submission: string }] }) => Promise<void>,
  worker?: object,
  described: object = NOT_STUCK,
) {
  return answeringTemporal({
    worker,
    workflow: {
      startUpdateWithStart: (_update: unknown, { updateId }: { readonly updateId: string }) =>
        submit(updateId),
      signalWithStart: (_type: string, options: Parameters<typeof withdraw>[0]) => withdraw(options),
      getHandle: () => ({ describe: () => Promise.resolve(described) }),
    },
  });
}

function targetThat(
  query: () => Promise<unknown>,
  describe = (): Promise<object> => Promise.resolve(NOT_STUCK),
) {
  return answeringTemporal({ workflow: { getHandle: () => ({ describe, query }) } });
}
