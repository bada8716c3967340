import { Hono } from 'hono';
import { afterEach, expect, it, vi } from 'vitest';

import { requireAnswers } from '../../src/dashboard/server.ts';
import type { TemporalConnection } from '../../src/temporal/client/connection.ts';

afterEach(() => void vi.useRealTimers());

/** A page that takes 20 s, with a Temporal that answers or does not. */
async function slowPage(getSystemInfo: () => Promise<unknown>) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const temporal = {
    client: {
      connection: { workflowService: { getSystemInfo } },
      withDeadline: (_: number, call: () => Promise<unknown>) => call(),
    },
    settings: { address: 'temporal.test:7233' },
  } as unknown as TemporalConnection;
  const app = new Hono();
  app.onError((error, c) => c.text(error.message, 503));
  app.use(requireAnswers(temporal));
  app.get('/', async (c) => {
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    return c.text('read');
  });
  let answer: Response | undefined;
  const asked = Promise.resolve(app.request('/')).then((got) => (answer = got));
  await vi.advanceTimersByTimeAsync(5_000);
  const early = answer?.status;
  await vi.advanceTimersByTimeAsync(15_000);
  return { early, text: await (await asked).text() };
}

it('a page is an error after a few seconds if Temporal does not answer', async () => {
  const hangs = Object.assign(new Error('4 DEADLINE_EXCEEDED'), { code: 4, details: '', metadata: {} });
  const { early, text } = await slowPage(() => Promise.reject(hangs));
  expect(early).toBe(503);
  expect(text).toContain('temporal.test:7233');
});

it('a slow page is waited for if Temporal answers', async () => {
  expect(await slowPage(() => Promise.resolve({}))).toEqual({ early: undefined, text: 'read' });
});
