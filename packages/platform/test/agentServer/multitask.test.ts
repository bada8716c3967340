/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { gate, until, useAgent } from './agentUnderTest.ts';

const { api } = useAgent();

const input = (text: string) => ({ input: { text } });

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('cancelling', () => {
  const runningSteps = async () => {
    const thread = await api.thread();
    await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'steps', ...input('0') });
    const before = await api.json('GET', `/threads/${thread}/state`);
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input('60000'),
    });
    await api.untilLogged(thread, 3);
    return { thread, before, run, path: `/threads/${thread}/runs/${run.run_id}` };
  };

  it.each(['', '?wait=false', '?wait=0', '?action=interrupt'])(
    'answers 202 at once with "%s"',
    async (query) => {
      const { thread, run, path } = await runningSteps();
      expect((await api.send('POST', `${path}/cancel${query}`)).status).toBe(202);
      await api.untilStatus(thread, run.run_id, 'interrupted');
    },
  );

  it.each(['?wait=true', '?wait=1', '?action=interrupt&wait=True'])(
    'answers 204 when it is over with "%s"',
    async (query) => {
      const { path } = await runningSteps();
      expect((await api.send('POST', `${path}/cancel${query}`)).status).toBe(204);
      expect((await api.json('GET', path)).status).toBe('interrupted');
    },
  );

  it('with interrupt keeps the last completed step, from which the thread can go on', async () => {
    const { thread, path, run } = await runningSteps();
    await api.send('POST', `${path}/cancel?wait=true`);
    const state = await api.json('GET', `/threads/${thread}/state`);
    expect(state).toMatchObject({ values: { log: ['first', 'second', 'first'] }, next: ['second'] });
    expect(state.metadata.run_id).toBe(run.run_id);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('interrupted');
    await api.json('POST', `/threads/${thread}/state`, { values: { text: '0' }, as_node: 'first' });
    const resumed = await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'steps' });
    expect(resumed.log).toEqual(['first', 'second', 'first', 'second']);
  });

  it('with rollback removes the run and restores the thread', async () => {
    const { thread, before, path } = await runningSteps();
    expect((await api.send('POST', `${path}/cancel?action=rollback&wait=true`)).status).toBe(204);
    expect((await api.send('GET', path)).status).toBe(404);
    expect(await api.json('GET', `/threads/${thread}/state`)).toEqual(before);
    expect(await api.json('GET', `/threads/${thread}`)).toMatchObject({
      status: 'idle',
      values: before.values,
    });
    const next = await api.json('POST', `/threads/${thread}/runs/wait`, {
      assistant_id: 'steps',
      ...input('1'),
    });
    expect(next).toEqual({ text: '1', log: ['first', 'second', 'first', 'second'] });
  });

  it('with rollback of the first run leaves the thread as it was made', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input('60000'),
    });
    await api.untilLogged(thread, 1);
    await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?action=rollback&wait=1`);
    expect(await api.json('GET', `/threads/${thread}`)).toMatchObject({ status: 'idle', values: null });
    expect((await api.json('GET', `/threads/${thread}/state`)).values).toEqual({});
    expect(await api.json('POST', `/threads/${thread}/history`, {})).toEqual([]);
  });

  it('of a run that has ended is refused', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'echo', ...input('x') });
    await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    const response = await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel`);
    expect(response.status).toBe(409);
    expect(await response.json()).toEqual({ detail: expect.stringContaining('success') });
  });

  it('of many by ids, and by status across threads', async () => {
    const one = await runningSteps();
    expect(
      (await api.send('POST', '/runs/cancel', { thread_id: one.thread, run_ids: [one.run.run_id, UNKNOWN] }))
        .status,
    ).toBe(204);
    await api.untilStatus(one.thread, one.run.run_id, 'interrupted');
    const two = await runningSteps();
    const three = await runningSteps();
    expect((await api.send('POST', '/runs/cancel', { status: 'pending' })).status).toBe(404);
    expect((await api.send('POST', '/runs/cancel?action=rollback', { status: 'all' })).status).toBe(204);
    for (const { path } of [two, three]) {
      await until(async () => (await api.send('GET', path)).status === 404, 'the run is gone');
    }
    expect((await api.send('POST', '/runs/cancel', { status: 'running' })).status).toBe(404);
    const both = await api.send('POST', '/runs/cancel', {
      status: 'all',
      thread_id: one.thread,
      run_ids: [UNKNOWN],
    });
    expect(both.status).toBe(422);
  });
});

describe('a second run on a busy thread', () => {
  const busy = async (wait = '60000') => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'steps', ...input(wait) });
    await api.untilLogged(thread, 1);
    return { thread, run };
  };
  const second = (thread: string, strategy?: string) =>
    api.send('POST', `/threads/${thread}/runs`, {
      assistant_id: 'echo',
      ...input('second'),
      multitask_strategy: strategy,
    });

  it('is rejected by default, and leaves no trace', async () => {
    const { thread, run } = await busy();
    for (const strategy of [undefined, 'reject']) {
      const response = await second(thread, strategy);
      expect(response.status).toBe(409);
      expect(await response.json()).toEqual({ detail: expect.stringContaining(run.run_id) });
    }
    expect(await api.json('GET', `/threads/${thread}/runs`)).toHaveLength(1);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('busy');
    await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?wait=true`);
  });

  it('waits its turn with enqueue', async () => {
    const hold = gate();
    const { thread, run } = await busy(hold.path);
    const queued = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    const third = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    expect((await api.json('GET', `/threads/${thread}/runs/${queued.run_id}`)).status).toBe('pending');
    await hold.open();
    const answer = await api.json('GET', `/threads/${thread}/runs/${queued.run_id}/join`);
    expect(answer).toMatchObject({ text: 'echo: second', log: ['first', 'second', 'hello from graph.json'] });
    const last = await api.json('GET', `/threads/${thread}/runs/${third.run_id}/join`);
    expect(last.text).toBe('echo: second');
    expect(last.log).toHaveLength(4);
    expect((await api.json('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe('success');
    const newestFirst = await api.json('GET', `/threads/${thread}/runs`);
    expect(newestFirst.map((each: { run_id: string }) => each.run_id)).toEqual([
      third.run_id,
      queued.run_id,
      run.run_id,
    ]);
  });

  it('that waits can be cancelled either way without ever running', async () => {
    const { thread, run } = await busy();
    const queued = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    const dropped = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    await api.send('POST', `/threads/${thread}/runs/${queued.run_id}/cancel?wait=true`);
    expect(await api.json('GET', `/threads/${thread}/runs/${queued.run_id}`)).toMatchObject({
      status: 'interrupted',
      attempt: 0,
    });
    await api.send('POST', `/threads/${thread}/runs/${dropped.run_id}/cancel?action=rollback&wait=true`);
    expect((await api.send('GET', `/threads/${thread}/runs/${dropped.run_id}`)).status).toBe(404);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('busy');
    await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?wait=true`);
    expect((await api.json('GET', `/threads/${thread}/state`)).values.log).toEqual(['first']);
  });

  it('interrupts the first, whose work stays', async () => {
    const { thread, run } = await busy();
    const next = (await (await second(thread, 'interrupt')).json()) as { run_id: string };
    const answer = await api.json('GET', `/threads/${thread}/runs/${next.run_id}/join`);
    expect(answer).toEqual({ text: 'echo: second', log: ['first', 'hello from graph.json'] });
    expect((await api.json('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe('interrupted');
  });

  it('rolls the first back, as if it had never been', async () => {
    const { thread, run } = await busy();
    const next = (await (await second(thread, 'rollback')).json()) as { run_id: string };
    const answer = await api.json('GET', `/threads/${thread}/runs/${next.run_id}/join`);
    expect(answer).toEqual({ text: 'echo: second', log: ['hello from graph.json'] });
    expect((await api.send('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe(404);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('idle');
  });
});
