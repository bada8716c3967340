import { expect, it } from 'vitest';

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
