import { expect, it, onTestFinished, vi } from 'vitest';

import { LiveRun } from '../../src/agentServer/runs/liveRun.ts';
import { RunLifecycle } from '../../src/agentServer/runs/runLifecycle.ts';

it.each([-3_600_000, 3_600_000])(
  'a delayed run is due after its delay, also if the clock of its process is %i ms off',
  async (offBy) => {
    const record = { run_id: 'r', thread_id: 't', start_after: new Date(Date.now() + 200) };
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offBy });
    onTestFinished(() => void vi.useRealTimers());
    const acceptedAt = performance.now();
    const due = new Promise<LiveRun>((onDue) => {
      const runs = { remainingDelay: () => Promise.resolve(200), endDelay: () => Promise.resolve(record) };
      const parts = {
        runs,
        onDue,
        lease: { isHeld: true },
        slots: { acquire: () => new Promise(() => undefined) },
      };
      const live = new LiveRun('r', 't', {}, () => Promise.resolve(undefined));
      live.record = record as never;
      void new RunLifecycle(parts as never).runToEnd(live, [], undefined);
    });
    expect((await due).runId).toBe('r');
    expect(performance.now() - acceptedAt).toBeGreaterThan(150);
  },
);
