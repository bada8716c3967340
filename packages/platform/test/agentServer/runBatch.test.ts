import { setTimeout as delay } from 'node:timers/promises';

import { Hono } from 'hono';
import { expect, it, vi } from 'vitest';

import { serveRuns } from '../../src/agentServer/http/runRoutes.ts';
import { RunService, type RunServiceParts } from '../../src/agentServer/runs/runService.ts';
import type { RunStore } from '../../src/agentServer/store/runStore.ts';
import { problemHandler } from '../../src/http/problem.ts';
import { createLogger } from '../../src/http/logger.ts';
import { serveOn } from '../../src/http/serve.ts';
import { gate } from '../controlPlane/testPlatform.ts';

it('a batch of runs is accepted whole, or refused whole', async () => {
  const log = createLogger({ level: 'silent' });
  const stored = gate();
  let accepted = 0;
  const runs = {
    acceptAll: async (batch: Parameters<RunStore['acceptAll']>[0]) => {
      accepted += batch.length;
      await stored.promise;
      return batch.map(([run]) => {
        const record = { run_id: run.runId, thread_id: run.threadId, kwargs: run.kwargs, start_after: null };
        return { run: { ...record, created_at: new Date(), updated_at: new Date() }, earlierRuns: [] };
      });
    },
    begin: () => new Promise(() => undefined),
  };
  const assistants = {
    get: () => Promise.resolve({ assistant_id: 'a', graph_id: 'g', config: {}, context: {} }),
    getGraph: () => undefined,
  };
  const limits = { concurrentRuns: 1, pendingRuns: 2 };
  const service = new RunService({
    runs,
    limits,
    lease: { isHeld: true },
    log,
  } as unknown as RunServiceParts);
  const checkpoints = { requireCheckpoint: () => Promise.resolve() };
  const parts = { runs, assistants, checkpoints, service, log } as unknown as Parameters<typeof serveRuns>[1];
  const app = new Hono();
  app.onError(problemHandler(log));
  serveRuns(serveOn(app), parts);
  const post = (path: string, body: unknown) =>
    app.request(path, { method: 'POST', body: JSON.stringify(body) });
  const run = { assistant_id: 'g' };
  const batch = post('/runs/batch', [run, run]);
  await vi.waitFor(() => expect(accepted).toBeGreaterThan(0), 10_000);
  const single = post('/runs', run);
  // It is refused before any run is stored.
  await Promise.race([single, delay(1_000)]);
  stored.open();
  expect([(await batch).status, (await single).status]).toEqual([200, 429]);
});
