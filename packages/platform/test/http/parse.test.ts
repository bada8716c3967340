import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import { expect, it } from 'vitest';

import { limitBody } from '../../src/http/parse.ts';
import { listen } from '../../src/http/listen.ts';
import { createLogger } from '../../src/http/logger.ts';
import { problemHandler } from '../../src/http/problem.ts';

it('a body that is too large is refused, and its connection takes no further request', async () => {
  const app = new Hono();
  app.use(limitBody(10));
  app.post('/', (context) => context.text('taken'));
  app.onError(problemHandler(createLogger({ level: 'silent' })));
  const answered = await app.request('/', { method: 'POST', body: 'x'.repeat(11) });
  expect(answered.status).toBe(413);
  expect(answered.headers.get('connection')).toBe('close');
  expect(await answered.json()).toEqual({ detail: 'The body is larger than 10 bytes.' });
});

it('a client that sends all of a body that is too large hears that it is', async () => {
  const app = new Hono();
  app.use(limitBody(1_000));
  app.post('/', (context) => context.text('taken'));
  app.onError(problemHandler(createLogger({ level: 'silent' })));
  const answer = getRequestListener(app.fetch);
  const listening = await listen((request, response) => void answer(request, response), { port: 0 });
  for (const mebibytes of [1, 16]) {
    const body = new Uint8Array(mebibytes * 1_048_576);
    const answered = await fetch(listening.url, { method: 'POST', body });
    expect(answered.status).toBe(413);
    expect(await answered.json()).toEqual({ detail: 'The body is larger than 1000 bytes.' });
  }
  await listening.close();
});
