/* eslint-disable @typescript-eslint/no-unsafe-argument -- answers are judged by what the rows expect of them */
import assert from 'node:assert/strict';

import { collectEvents, echo, gate, until } from '../runApiUnderTest.ts';
import { has, isUuid } from './judging.ts';
import type { Row, ServerUnderTest } from './row.ts';
import { followsFromNowOn } from './streams.ts';

/** Contract 001, "Endpoints": each answers as its row says, for every form of its query and body. */
export const ENDPOINT_ROWS: readonly Row[] = [
  endpoint('POST /threads', async ({ api }) => {
    has(await api.json('POST', '/threads', {}), { thread_id: isUuid });
    has(await api.json('POST', '/threads', { metadata: { a: 1 } }), { metadata: { a: 1 } });
  }),
  endpoint('GET /threads/{thread_id}/state', async (server) => {
    has((await server.echoed()).state, { values: { text: 'echo: hi' } });
  }),
  endpoint('GET /threads/{thread_id}/runs', async (server) => {
    const { thread, created } = await server.echoed();
    has(await server.api.runs(thread), [{ run_id: created.run_id }]);
  }),
  endpoint('POST /threads/{thread_id}/runs', async (server) => {
    const body = { ...echo(), feedback_keys: ['a'] };
    const run = await server.create(await server.api.thread(), { ...body, multitask_strategy: 'enqueue' });
    has(run, { status: 'pending', multitask_strategy: 'enqueue', kwargs: { feedback_keys: ['a'] } });
  }),
  endpoint('GET /threads/{thread_id}/runs/{run_id}', async (server) => {
    const { ended, created } = await server.echoed();
    has(ended, { run_id: created.run_id, status: 'success' });
  }),
  endpoint(
    'GET /threads/{thread_id}/runs/{run_id}/join blocks until the run has finished',
    async (server) => {
      const hold = gate();
      const { path } = await server.busy(hold.path);
      let joined = false;
      const join = server.api.json('GET', `${path}/join`).then(() => (joined = true));
      has(await server.api.json('GET', path), { status: 'running' });
      assert.equal(joined, false);
      await hold.open();
      await join;
      has(await server.api.json('GET', path), { status: 'success' });
    },
  ),
  // Other spellings are in `packages/contract/test/runApi/cancel.test.ts`.
  ...['', '?action=interrupt&wait=false', '?wait=true'].map((query) =>
    endpoint(`POST /threads/{thread_id}/runs/{run_id}/cancel${query}`, async (server) => {
      const { thread, run, path } = await server.busy();
      const { status } = await server.answer('POST', `${path}/cancel${query}`);
      assert.ok(status >= 200 && status < 300, `answered ${status}`);
      await server.api.untilStatus(thread, run.run_id, 'interrupted');
    }),
  ),
  ...['?action=rollback', '?action=rollback&wait=true'].map((query) =>
    endpoint(`POST /threads/{thread_id}/runs/{run_id}/cancel${query}`, async (server) => {
      const { path } = await server.busy();
      await server.answer('POST', `${path}/cancel${query}`);
      await until(async () => (await server.answer('GET', path)).status === 404, 'the run is gone');
    }),
  ),
  bulk('thread_id with run_ids', 'interrupt', ({ thread, run }) => ({
    thread_id: thread,
    run_ids: [run.run_id],
  })),
  bulk('thread_id with run_ids', 'rollback', ({ thread, run }) => ({
    thread_id: thread,
    run_ids: [run.run_id],
  })),
  bulk('status running', 'interrupt', () => ({ status: 'running' })),
  bulk('status all', 'rollback', () => ({ status: 'all' })),
  endpoint('POST /runs/cancel with status pending', async (server) => {
    const { thread, path } = await server.busy();
    const body = { ...echo(), multitask_strategy: 'enqueue' };
    const waiting = await server.create(thread, body);
    await server.answer('POST', '/runs/cancel?action=interrupt', { status: 'pending' });
    try {
      await server.api.untilStatus(thread, waiting.run_id, 'interrupted');
      has(await server.api.json('GET', path), { status: 'running' });
    } finally {
      await server.end(path);
    }
  }),
  endpoint('POST /threads/{thread_id}/runs/wait', async (server) => {
    const body = { ...echo(), on_disconnect: 'cancel' };
    has(await server.api.wait(await server.api.thread(), body), { text: 'echo: x' });
  }),
  endpoint('POST /threads/{thread_id}/runs/stream', async (server) => {
    const body = { ...echo(), stream_mode: 'updates' };
    const thread = await server.api.thread();
    const events = await server.stream(body, `/threads/${thread}/runs/stream`);
    has(events.at(-1), { event: 'updates', data: { say: { text: 'echo: x' } } });
    has(await server.api.state(thread), { values: { text: 'echo: x' } });
  }),
  endpoint('POST /runs/stream leaves nothing in a thread', async (server) => {
    const body = { ...echo(), stream_mode: 'values' };
    const response = await server.api.send('POST', '/runs/stream', body);
    const events = await collectEvents(response);
    has(events.at(-1), { event: 'values', data: { text: 'echo: x' } });
    const thread = /threads\/([^/]+)/.exec(response.headers.get('content-location') ?? '')?.[1];
    if (thread !== undefined) has(await server.answer('GET', `/threads/${thread}`), { status: 404 });
  }),
  endpoint('GET /threads/{thread_id}/runs/{run_id}/stream follows a run from now on', followsFromNowOn),
  feedback('POST {tracing_url}/api/v1/feedback/tokens/{token_id}', (link) =>
    fetch(link, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        score: 0.5,
        value: 'b',
        comment: 'c',
        correction: { a: 1 },
        metadata: { m: 1 },
      }),
    }),
  ),
  feedback('GET {tracing_url}/api/v1/feedback/tokens/{token_id}', (link) =>
    fetch(`${link}?score=0.5&value=b&comment=c&correction=${encodeURIComponent('{"a":1}')}`),
  ),
  ...Object.entries({
    score: { score: -1 },
    'value, a number': { value: 7 },
    'value, a string': { value: 'seven' },
    comment: { comment: 'well' },
    correction: { correction: { to: 'this' } },
    metadata: { metadata: { by: 'me' } },
  }).map(([field, body]) =>
    feedback(`feedback field ${field}`, (link) =>
      fetch(link, { method: 'POST', body: JSON.stringify(body) }),
    ),
  ),
  {
    section: 'Endpoints',
    row: 'feedback field metadata: unsupported with GET',
    check: async (server) => {
      const answer = await fetch(`${await feedbackLink(server)}?metadata=${encodeURIComponent('{"a":1}')}`);
      assert.ok(answer.status >= 400 && answer.status < 500, `answered ${answer.status}`);
    },
  },
];

function endpoint(row: string, check: Row['check']): Row {
  return { section: 'Endpoints', row, check };
}

function bulk(
  form: string,
  action: 'interrupt' | 'rollback',
  body: (busy: Awaited<ReturnType<ServerUnderTest['busy']>>) => unknown,
): Row {
  return endpoint(`POST /runs/cancel?action=${action} with ${form}`, async (server) => {
    const busy = await server.busy();
    try {
      await server.answer('POST', `/runs/cancel?action=${action}`, body(busy));
      if (action === 'rollback')
        await until(async () => (await server.answer('GET', busy.path)).status === 404, 'the run is gone');
      else await server.api.untilStatus(busy.thread, busy.run.run_id, 'interrupted');
    } finally {
      await server.end(busy.path);
    }
  });
}

async function feedbackLink(server: ServerUnderTest): Promise<string> {
  const { good = '' } = await server.feedbackLinks(['good']);
  assert.match(good, /^https?:\/\/.+\/api\/v1\/feedback\/tokens\/[^/]+$/);
  return good;
}

function feedback(row: string, send: (link: string) => Promise<Response>): Row {
  return endpoint(row, async (server) => {
    const answer = await send(await feedbackLink(server));
    assert.ok(answer.ok, `answered ${answer.status}`);
  });
}
