import { ScheduleAlreadyRunning, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it, vi } from 'vitest';

import {
  applySchedules,
  listSchedules,
  pauseSchedule,
  readSchedule,
} from '../../../../src/temporal/client/schedule/schedules.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import type { DeclaredSchedule } from '../../../../src/domain/schedule/schedule.ts';
import { WORKFLOW_TYPES } from '../../../../src/messages/workflowTypes.ts';
import type { TemporalConnection } from '../../../../src/temporal/client/connection.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

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
