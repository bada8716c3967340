/* eslint-disable @typescript-eslint/no-unsafe-argument -- answers are judged by what the rows expect of them */
import assert from 'node:assert/strict';

import { odd } from '../runApiUnderTest.ts';
import { has, isText } from './judging.ts';
import type { Row } from './row.ts';
import { leaving } from './states.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

/** Behavior of the public servers that contract 001 does not show, and bugs of theirs. */
export const GAP_ROWS: readonly Row[] = [
  gap('statuses: a run that fails ends with error, one that takes too long with timeout', async (server) => {
    const thread = await server.api.thread();
    const wait = `/threads/${thread}/runs/wait`;
    await server.answer('POST', wait, odd('throw'));
    has(await server.api.runs(thread), [{ status: 'error' }]);
    await server.answer('POST', wait, { ...odd('60000'), assistant_id: 'steps', timeout: 0.2 });
    has((await server.api.runs(thread))[0], { status: 'timeout' });
  }),
  gap('thread statuses: idle, busy, interrupted, error', async (server) => {
    const statusOf = async (thread: string) =>
      ((await server.api.threadOf(thread)) as { status: string }).status;
    const { thread: done } = await server.echoed();
    assert.equal(await statusOf(done), 'idle');
    const { thread, path } = await server.busy();
    const busy = await statusOf(thread);
    await server.end(path);
    assert.deepEqual([busy, await statusOf(thread)], ['busy', 'interrupted']);
    const failed = await server.api.thread();
    await server.answer('POST', `/threads/${failed}/runs/wait`, odd('throw'));
    assert.equal(await statusOf(failed), 'error');
  }),
  gap('a stream of a run that fails ends with an error event', async (server) => {
    has((await server.stream(odd('throw'))).at(-1), {
      event: 'error',
      data: { error: 'RangeError', message: 'out of luck' },
    });
  }),
  gap('a failed wait answers 200 with __error__', async (server) => {
    has(await server.answer('POST', '/runs/wait', odd('throw')), FAILED);
  }),
  gap('a failed join answers 200 with __error__', async (server) => {
    const thread = await server.api.thread();
    const run = await server.create(thread, odd('throw'));
    has(await server.answer('GET', `/threads/${thread}/runs/${run.run_id}/join`), FAILED);
  }),
  gap('cancel answers 202, with wait 204', async (server) => {
    const one = await server.busy();
    has(await server.answer('POST', `${one.path}/cancel?wait=false`), { status: 202 });
    await server.api.untilStatus(one.thread, one.run.run_id, 'interrupted');
    const two = await server.busy();
    has(await server.answer('POST', `${two.path}/cancel?wait=true`), { status: 204 });
  }),
  gap('bulk cancel answers 204, 404 when nothing matches, 422 for ids with a status', async (server) => {
    const { thread, run } = await server.busy();
    const ids = { thread_id: thread, run_ids: [run.run_id] };
    has(await server.answer('POST', '/runs/cancel', { ...ids, status: 'all' }), { status: 422 });
    has(await server.answer('POST', '/runs/cancel', ids), { status: 204 });
    await server.api.untilStatus(thread, run.run_id, 'interrupted');
    has(await server.answer('POST', '/runs/cancel', ids), { status: 404 });
    has(await server.answer('POST', '/runs/cancel', {}), { status: 422 });
  }),
  gap('a run that is rejected answers 409', async (server) => {
    const { thread, path } = await server.busy();
    const second = await server.answer('POST', `/threads/${thread}/runs`, odd());
    await server.end(path);
    has(second, { status: 409, body: { detail: isText } });
  }),
  gap('what is not right answers 422 with detail', async (server) => {
    const thread = await server.api.thread();
    has(await server.answer('POST', `/threads/${thread}/runs`, {}), {
      status: 422,
      body: { detail: isDetail },
    });
    has(await server.answer('GET', '/threads/nonsense'), { status: 422, body: { detail: isDetail } });
  }),
  ...[
    ['GET', `/threads/${UNKNOWN}`],
    ['GET', `/threads/${UNKNOWN}/state`],
    ['GET', `/threads/${UNKNOWN}/runs`],
    ['POST', `/threads/${UNKNOWN}/runs`],
    ['POST', `/threads/${UNKNOWN}/runs/wait`],
    ['POST', `/threads/${UNKNOWN}/runs/stream`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}/join`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}/stream`],
    ['POST', `/threads/${UNKNOWN}/runs/${UNKNOWN}/cancel`],
    ['PATCH', `/threads/${UNKNOWN}`],
    ['DELETE', `/threads/${UNKNOWN}`],
    ['POST', `/threads/${UNKNOWN}/state`],
    ['POST', `/threads/${UNKNOWN}/history`],
  ].map(([method = '', path = '']) =>
    gap(
      `what is unknown answers 404 with detail: ${method} ${path.replaceAll(UNKNOWN, '…')}`,
      async (server) => {
        const body = method === 'GET' ? undefined : { assistant_id: 'echo' };
        has(await server.answer(method, path, body), { status: 404, body: { detail: isText } });
      },
    ),
  ),
  gap('an unknown assistant answers 404', async (server) => {
    has(await server.answer('POST', '/runs/wait', { assistant_id: 'nobody' }), { status: 404 });
  }),
  gap('Content-Location tells where a created run is', async (server) => {
    const response = await server.api.send('POST', '/runs/wait', odd());
    await response.text();
    assert.match(response.headers.get('content-location') ?? '', /\/runs\/[\da-f-]{36}$/);
  }),
  ...['join', 'stream'].flatMap((what) => [
    leaving('Gaps', `${what}?on_disconnect=cancel`, 'interrupted'),
    leaving('Gaps', `${what}?cancel_on_disconnect=0`, 'running'),
    leaving('Gaps', what, 'running'),
  ]),
];

const FAILED = { status: 200, body: { __error__: { error: 'RangeError', message: 'out of luck' } } };

function isDetail(value: unknown): boolean {
  return Array.isArray(value) && value.every((issue) => Array.isArray((issue as { loc?: unknown }).loc));
}

function gap(row: string, check: Row['check']): Row {
  return { section: 'Gaps', row, check };
}
