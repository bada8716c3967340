import { ScheduleAlreadyRunning, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it, onTestFinished, vi } from 'vitest';

import {
  applySchedules,
  listSchedules,
  pauseSchedule,
  readSchedule,
  triggerSchedule,
} from '../../../../src/temporal/client/schedule/schedules.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import type { DeclaredSchedule } from '../../../../src/domain/schedule/schedule.ts';
import { WORKFLOW_TYPES } from '../../../../src/messages/workflowTypes.ts';
import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { request } from '../../../domain/target/targets.ts';
import { answeringTemporal, grpcError, pinnedTo } from '../answeringTemporal.ts';

const { target } = request('a');
const EXISTING = { scheduleId: 's', request: { from: target, to: target } } as Parameters<
  typeof triggerSchedule
>[1];

it('a promotion that is triggered while Temporal does not answer may still start, and the error says so', async () => {
  const start = () => Promise.reject(grpcError('UNAVAILABLE'));
  const describe = () => Promise.reject(grpcError('NOT_FOUND'));
  const temporal = answeringTemporal({ workflow: { start, getHandle: () => ({ describe }) } });
  await expect(triggerSchedule(temporal, EXISTING, { who: 'bo', from: 'test' })).rejects.toMatchObject({
    code: 'SLIPWAY_TEMPORAL_UNREACHABLE',
    message: expect.stringContaining('may still start') as string,
  });
});

it('no promotion is triggered if no worker could start it: it would start whenever one does', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const start = vi.fn();
  const temporal = answeringTemporal({ workflow: { start }, worker: { lastAccessTime: { seconds: 0 } } });
  const triggered = triggerSchedule(temporal, EXISTING, { who: 'bo', from: 'test' });
  const refused = expect(triggered).rejects.toMatchObject({ code: 'SLIPWAY_NO_WORKER' });
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
  expect(start).not.toHaveBeenCalled();
});

it('no promotion is triggered whose target is pinned to a version without workers', async () => {
  const start = vi.fn();
  const describe = () => Promise.resolve(pinnedTo('v9'));
  const temporal = answeringTemporal({ workflow: { start, getHandle: () => ({ describe }) } });
  await expect(triggerSchedule(temporal, EXISTING, { who: 'bo', from: 'test' })).rejects.toMatchObject({
    code: 'SLIPWAY_NO_WORKER',
    message: expect.stringContaining('no worker of version v9') as string,
  });
  expect(start).not.toHaveBeenCalled();
});

const removal = { scheduleId: 's', name: 'up', kind: 'undeclared', differences: [] } as const;

it.each<[string, (temporal: TemporalConnection) => Promise<void>]>([
  ['paused', (temporal) => pauseSchedule(temporal, 's', true, 'bo: not yet')],
  ['removed', (temporal) => applySchedules(temporal, [], [removal], true)],
])('a schedule that is %s starts no promotion that waits, and ends none that has begun', async (_, end) => {
  const terminated: string[] = [];
  const runs = { waits: [], begun: [{ workflowId: 'promotion:a' }], triggered: [] };
  const temporal = answeringTemporal({
    schedule: { getHandle: () => ({ pause: () => Promise.resolve(), delete: () => Promise.resolve() }) },
    workflow: {
      getHandle: (id: keyof typeof runs) => ({
        describe: () =>
          id in runs
            ? Promise.resolve({ raw: { pendingChildren: runs[id] } })
            : Promise.reject(new WorkflowNotFoundError('not found', id, undefined)),
        terminate: () => Promise.resolve(void terminated.push(id)),
      }),
    },
  });
  const describeSchedule = () => {
    const actions = ['forgotten', ...Object.keys(runs)].map((workflowId) => ({ workflowId }));
    // Temporal's own trigger starts runs that it does not list as running.
    const runningWorkflows = actions.slice(0, 3);
    const recentActions = actions.map((startWorkflowResult) => ({ startWorkflowResult }));
    return Promise.resolve({ info: { runningWorkflows, recentActions } });
  };
  Object.assign(temporal.connection.workflowService, { describeSchedule });
  await end(temporal);
  expect(terminated).toEqual(['waits', 'triggered']);
});

it('a schedule that another person has created since it was read is changed, and keeps its pause', async () => {
  const change = { ...removal, kind: 'create' } as const;
  const declared = {
    scheduleId: 's',
    request: {},
    schedule: { overlap: 'skip' },
  } as unknown as DeclaredSchedule;
  const updated = vi.fn();
  const temporal = answeringTemporal({
    schedule: {
      create: () => Promise.reject(new ScheduleAlreadyRunning('exists', 's')),
      getHandle: () => ({
        update: (change: (before: object) => object) =>
          Promise.resolve(updated(change({ state: { paused: true } }))),
      }),
    },
    workflow: {},
  });
  await applySchedules(temporal, [declared], [change], false);
  expect(updated).toHaveBeenCalledWith(expect.objectContaining({ state: { paused: true } }));
});

it('a schedule whose payload key is lost is named with the key and the way out, and hides no other', async () => {
  const lost = new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', 'a payload is encrypted with the key "old"', {
    hint: 'add the key',
  });
  const input = { request: { name: 'up' }, schedule: { cron: '0 2 * * *' } };
  const described = {
    scheduleId: 'promotion:known',
    action: { workflowType: WORKFLOW_TYPES.promotionTurn, args: [input] },
    state: { paused: false, note: '' },
    info: { nextActionTimes: [], recentActions: [] },
  };
  const temporal = answeringTemporal({
    schedule: {
      // eslint-disable-next-line @typescript-eslint/require-await -- Temporal's list is an async iterable.
      list: async function* () {
        yield* [{ scheduleId: 'promotion:lost' }, { scheduleId: 'promotion:known' }];
      },
      getHandle: (id: string) => ({
        describe: () => (id === 'promotion:lost' ? Promise.reject(lost) : Promise.resolve(described)),
      }),
    },
    workflow: {},
  });
  const sealed = new Map<string, SlipwayError>();
  expect(await listSchedules(temporal, sealed)).toMatchObject([
    { scheduleId: 'promotion:known', note: null },
  ]);
  const error = {
    code: 'SLIPWAY_PAYLOAD_KEY_MISSING',
    message: 'the schedule promotion:lost cannot be read: a payload is encrypted with the key "old"',
    hint: expect.stringContaining('temporal schedule delete --schedule-id "promotion:lost"') as string,
  };
  expect([...sealed.values()]).toMatchObject([error]);
  await expect(readSchedule(temporal, 'promotion:lost')).rejects.toMatchObject(error);
});
