import { expect, it, vi } from 'vitest';

import { LiveRun } from '../../src/agentServer/runs/liveRun.ts';
import { RunLifecycle } from '../../src/agentServer/runs/runLifecycle.ts';
import { RunOutcomes } from '../../src/agentServer/runs/runOutcome.ts';
import { RunService } from '../../src/agentServer/runs/runService.ts';

it('a resumable run that fails without a further attempt ends its stream after the events of the earlier ones', async () => {
  const failed = { error: 'AttemptsExhausted', message: '' };
  const parts = {
    lease: { isHeld: true },
    log: { info: () => undefined },
    maxAttempts: 1,
    events: { newestId: () => Promise.resolve(42) },
    outcomes: {
      readOutcome: () => Promise.resolve({ ending: { status: 'error', values: 'null', failure: failed } }),
    },
    ends: { finish: () => Promise.resolve(new Date()) },
    footprint: { dropSavedWrites: () => Promise.resolve() },
    endReports: { send: () => Promise.resolve() },
  };
  const service = new RunService(parts as never);
  const record = { run_id: 'r', thread_id: 't', attempt: 1, lost_attempts: 1, kwargs: { resumable: true } };
  service.executeClaimed({ ...record, start_after: null, cancel_action: null } as never);
  const stored = [{ id: 42, event: 'updates', data: '1' }];
  const reader = await service.findLive('r')?.follow({ replay: () => Promise.resolve(stored) });
  const frames: string[] = [];
  for (let frame = await reader?.next(); frame !== undefined; frame = await reader?.next())
    frames.push(new TextDecoder().decode(frame));
  expect(frames.slice(1)).toEqual([
    'event: updates\nid: 42\ndata: 1\n\n',
    `event: error\nid: 43\ndata: ${JSON.stringify(failed)}\n\n`,
  ]);
});

it('a run whose process lost its lease during the rollback is not removed without freeing its thread', async () => {
  const live = new LiveRun('r', 't', {}, () => Promise.resolve(undefined));
  live.record = { run_id: 'r', thread_id: 't', attempt: 1, lost_attempts: 0, start_after: null } as never;
  live.stop('rollback');
  const finishRolledBack = vi.fn();
  const lease = { isHeld: true };
  const rollBack = () => {
    live.stop('lost');
    return Promise.resolve(true);
  };
  const parts = {
    lease,
    slots: { acquire: () => Promise.resolve(undefined) },
    footprint: { rollBack },
    outcomes: new RunOutcomes({ lease } as never),
    ends: { finishRolledBack },
  };
  const { status } = await new RunLifecycle(parts as never).runToEnd(live, [], undefined);
  expect(status).toBe('lost');
  expect(finishRolledBack).not.toHaveBeenCalled();
});

it('a run that is claimed again while its lost attempt still ends stays known to its process', async () => {
  const endings: (() => void)[] = [];
  const failure = { error: 'AttemptsExhausted', message: '' };
  const parts = {
    lease: { isHeld: true },
    log: { info: () => undefined },
    maxAttempts: 1,
    outcomes: {
      readOutcome: () =>
        new Promise((resolve) =>
          endings.push(() => resolve({ ending: { status: 'error', values: 'null', failure } })),
        ),
    },
    ends: { finish: () => Promise.resolve(new Date()) },
    footprint: { dropSavedWrites: () => Promise.resolve() },
    endReports: { send: () => Promise.resolve() },
  };
  const service = new RunService(parts as never);
  const record = { run_id: 'r', thread_id: 't', lost_attempts: 1, kwargs: {}, start_after: null };
  const claim = (attempt: number) => {
    service.executeClaimed({ ...record, attempt, cancel_action: null } as never);
    return service.findLive('r');
  };
  const [lost, further] = [claim(1), claim(2)];
  await expect.poll(() => endings.length).toBe(2);
  endings[0]?.();
  await lost?.ended;
  expect(service.findLive('r')).toBe(further);
  endings[1]?.();
  await further?.ended;
  expect(service.findLive('r')).toBeUndefined();
});
