/* eslint-disable @typescript-eslint/no-unsafe-argument -- answers are judged by what the rows expect of them */
import assert from 'node:assert/strict';

import { echo, gate, steps, until } from '../runApiUnderTest.ts';
import { has } from './judging.ts';
import type { Row, ServerUnderTest } from './row.ts';
import { overAlready } from './rules.ts';

const SECTION = 'States and transitions';

/** Contract 001, "States and transitions". */
export const STATE_ROWS: readonly Row[] = [
  state('create run: pending, in the list of its thread; a new thread has an empty list', async (server) => {
    const thread = await server.api.thread();
    assert.deepEqual(await server.api.runs(thread), []);
    const run = await server.create(thread, echo());
    has(run, { status: 'pending' });
    has(await server.api.runs(thread), [{ run_id: run.run_id }]);
  }),
  state(
    'a pending run that finishes: success after joining, its final state in the thread',
    async (server) => {
      const { ended, state } = await server.echoed();
      has(ended, { status: 'success' });
      has(state, { values: { text: 'echo: hi' }, next: [] });
    },
  ),
  state(
    'cancel with interrupt: interrupted; record, checkpoints and the last step remain',
    async (server) => {
      const { thread, path } = await server.busy();
      await server.end(path);
      has(await server.api.json('GET', path), { status: 'interrupted' });
      const state = await server.api.state(thread);
      has(state, { values: { log: ['first'] }, next: ['second'] });
      const body = { assistant_id: 'steps', command: { update: { text: '0' } } };
      has(await server.api.wait(thread, body), { log: ['first', 'second'] });
    },
  ),
  state('cancel with rollback: run and checkpoints removed, the thread as before', async (server) => {
    const thread = await server.api.thread();
    await server.api.wait(thread, steps());
    const before = await server.api.state(thread);
    const run = await server.create(thread, steps(60_000));
    await server.api.untilLogged(thread, 3);
    const path = `/threads/${thread}/runs/${run.run_id}`;
    await server.answer('POST', `${path}/cancel?action=rollback&wait=true`);
    has(await server.answer('GET', path), { status: 404 });
    has(await server.api.state(thread), {
      values: before.values,
      next: [],
      metadata: { run_id: before.metadata.run_id },
    });
    has(await server.api.threadOf(thread), { status: 'idle' });
  }),
  disconnect('wait', 'interrupted', { on_disconnect: 'cancel' }),
  disconnect('wait?on_disconnect=cancel', 'interrupted'),
  disconnect('wait', 'running'),
  disconnect('stream', 'interrupted', { on_disconnect: 'cancel' }),
  disconnect('stream?on_disconnect=cancel', 'interrupted'),
  leaving(SECTION, 'join?cancel_on_disconnect=cancel', 'interrupted'),
  leaving(SECTION, 'stream?cancel_on_disconnect=cancel', 'interrupted'),
  state('cancel in any other status: unchanged, and the request fails', overAlready),
  state('without wait the cancel answers before it is over, with wait after', async (server) => {
    const one = await server.busy();
    await server.answer('POST', `${one.path}/cancel`);
    const { status } = await server.api.json('GET', one.path);
    assert.ok(['pending', 'running', 'interrupted'].includes(status), status);
    await server.api.untilStatus(one.thread, one.run.run_id, 'interrupted');
    const two = await server.busy();
    await server.answer('POST', `${two.path}/cancel?wait=true`);
    has(await server.api.json('GET', two.path), { status: 'interrupted' });
  }),
  state('multitask enqueue: the second run waits behind the first', async (server) => {
    const hold = gate();
    const { thread, path } = await server.busy(hold.path);
    const second = await server.create(thread, { ...ECHO, multitask_strategy: 'enqueue' });
    has(await server.api.run(thread, second.run_id), { status: 'pending' });
    await hold.open();
    const log = (await server.api.join(thread, second.run_id)).log as string[];
    assert.deepEqual(log.slice(0, 2), ['first', 'second']);
    has(await server.api.json('GET', path), { status: 'success' });
  }),
  state('multitask reject: the second run is refused, the first goes on', async (server) => {
    const { thread, path } = await server.busy();
    const second = await server.answer('POST', `/threads/${thread}/runs`, {
      ...ECHO,
      multitask_strategy: 'reject',
    });
    has(await server.api.json('GET', path), { status: 'running' });
    await server.end(path);
    assert.ok(second.status >= 400 && second.status < 500, `answered ${second.status}`);
  }),
  state('multitask interrupt: the first is interrupted, and its steps stay', async (server) => {
    const { thread, path } = await server.busy();
    const second = await server.create(thread, { ...ECHO, multitask_strategy: 'interrupt' });
    has(await server.api.join(thread, second.run_id), {
      text: 'echo: second',
      log: (log: string[]) => log[0] === 'first' && log.length === 2,
    });
    has(await server.api.json('GET', path), { status: 'interrupted' });
  }),
  state('multitask rollback: the first is gone, and so are its steps', async (server) => {
    const { thread, path } = await server.busy();
    const second = await server.create(thread, { ...ECHO, multitask_strategy: 'rollback' });
    has(await server.api.join(thread, second.run_id), {
      text: 'echo: second',
      log: (log: string[]) => log.length === 1,
    });
    await until(async () => (await server.answer('GET', path)).status === 404, 'the first run is gone');
  }),
];

const ECHO = echo('second');

function state(row: string, check: Row['check']): Row {
  return { section: SECTION, row, check };
}

function disconnect(what: string, then: AfterDisconnect, how: object = {}): Row {
  return state(`client disconnect: ${what} ${JSON.stringify(how)}, the run is ${then}`, async (server) => {
    const thread = await server.api.thread();
    const body = { ...steps(60_000), ...how };
    await server.leave('POST', `/threads/${thread}/runs/${what}`, body, () =>
      server.api.untilLogged(thread, 1),
    );
    const [run] = await server.api.runs(thread);
    await becomes(then, server, { thread, run });
  });
}

export function leaving(section: string, what: string, then: AfterDisconnect): Row {
  const row = `client disconnect: ${what} of another client's run, which is ${then}`;
  const check = async (server: ServerUnderTest): Promise<void> => {
    const busy = await server.busy();
    await server.leave('GET', `${busy.path}/${what}`, undefined, () => server.api.json('GET', busy.path));
    await becomes(then, server, busy);
  };
  return { section, row, check };
}

async function becomes(
  then: AfterDisconnect,
  server: ServerUnderTest,
  { thread, run }: { thread: string; run: { run_id: string } },
): Promise<void> {
  try {
    // The other client's request is answered after the server has noticed the disconnect.
    if (then === 'running') await server.api.wait(undefined, ECHO);
    await server.api.untilStatus(thread, run.run_id, then);
  } finally {
    await server.end(`/threads/${thread}/runs/${run.run_id}`);
  }
}

type AfterDisconnect = 'interrupted' | 'running';
