import { pino } from 'pino';
import { expect, it } from 'vitest';

import { ProcessLease } from '../../src/agentServer/runs/processLease.ts';
import type { ProcessStore } from '../../src/agentServer/store/processStore.ts';

it('an agent starts although the database does not answer its first heartbeat', async () => {
  const answers = [new Error('Connection terminated due to connection timeout'), 'entered'];
  const processes = {
    heartbeat: () => {
      const answer = answers.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
    unregister: () => Promise.resolve(),
  } as unknown as ProcessStore;
  const log = pino({ enabled: false });
  const lease = new ProcessLease({ processes, leaseMs: 20_000, onExpired: () => undefined, log });
  await lease.start();
  expect(lease.isHeld).toBe(true);
  await lease.stop();
});
