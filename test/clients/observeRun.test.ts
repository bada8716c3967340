import { expect, it, onTestFinished } from 'vitest';

import { observeRun } from '../../src/clients/observeRun.ts';
import { createRunApiClient } from '../../src/clients/runApi.ts';
import { startService } from './faultyService.ts';

it('A run that was never sent has not taken too long', async () => {
  const service = await startService(() => undefined);
  const agent = createRunApiClient({ baseUrl: service.url, connections: 1 });
  onTestFinished(() => agent.close());
  const observe = (timeoutMs: number) =>
    observeRun(agent, { assistant: 'agent', input: {}, timeoutMs }, new AbortController().signal);
  const first = observe(500);
  await expect(observe(100)).rejects.toMatchObject({ code: 'SLIPWAY_UNREACHABLE' });
  expect((await first).run.status).toBe('timeout');
});
