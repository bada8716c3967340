/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { gate, until, useAgent } from './agentUnderTest.ts';

const { api } = useAgent();

interface Made {
  readonly thread: string;
  readonly run_id: string;
  /** Lets go whatever the run waits behind. */
  readonly free?: () => Promise<unknown>;
}

const create = async (thread: string, body: object): Promise<Made> => {
  const run = (await api.json('POST', `/threads/${thread}/runs`, body)) as { run_id: string };
  return { thread, run_id: run.run_id };
};
const input = (text: string) => ({ input: { text } });
const UNKNOWN = '00000000-0000-4000-8000-000000000000';
const steps = (text: string) => ({ assistant_id: 'steps', input: { text } });
const echo = { assistant_id: 'echo', input: { text: 'x' } };

/** The moments of a run's life, each with how a run comes to be in it. */
const MOMENTS: Record<string, () => Promise<Made>> = {
  'just accepted': async () => create(await api.thread(), steps('60000')),
  'waiting for its delay': async () => create(await api.thread(), { ...echo, after_seconds: 600 }),
  'waiting behind another': async () => {
    const hold = gate();
    const first = await create(await api.thread(), steps(hold.path));
    return { ...(await create(first.thread, { ...echo, multitask_strategy: 'enqueue' })), free: hold.open };
  },
  'in its second step': async () => {
    const made = await create(await api.thread(), steps('60000'));
    await api.untilLogged(made.thread, 1);
    return made;
  },
  'in a node that minds no signal': async () => {
    const made = await create(await api.thread(), { assistant_id: 'odd', input: { text: 'hang' } });
    await api.untilStatus(made.thread, made.run_id, 'running');
    return made;
  },
  'about to end': async () => create(await api.thread(), echo),
  'waiting for an answer': async () => {
    const made = await create(await api.thread(), { assistant_id: 'ask', input: { text: 'x' } });
    await api.json('GET', `/threads/${made.thread}/runs/${made.run_id}/join`);
    return made;
  },
};

const INTERRUPT = '?action=interrupt';
const ROLLBACK = '?action=rollback';
const PAIRS = [
  [INTERRUPT, `${INTERRUPT}&wait=1`],
  [INTERRUPT, `${ROLLBACK}&wait=1`],
  [ROLLBACK, `${INTERRUPT}&wait=1`],
  [ROLLBACK, `${ROLLBACK}&wait=1`],
] as const;

describe.concurrent.each(Object.keys(MOMENTS))('a run that is %s', (moment) => {
  it('and is cancelled by two clients at once, twice, comes to one end', { timeout: 60_000 }, async () => {
    await Promise.all(
      PAIRS.map(async ([one, other]) => {
        const made = await MOMENTS[moment]!();
        const path = `/threads/${made.thread}/runs/${made.run_id}`;
        const joined = api.send('GET', `${path}/join`).then((response) => response.text());
        const send = async (query: string) => (await api.send('POST', `${path}/cancel${query}`)).status;
        const answers = await Promise.all([one, other, one, other].map(send));
        // Taken, or too late: over already, or gone already.
        for (const status of answers) expect([202, 204, 404, 409]).toContain(status);
        const end = await until(async () => {
          const response = await api.send('GET', path);
          const { status } = (await response.json()) as { status?: string };
          return response.status === 404 ? 'gone' : status !== 'pending' && status !== 'running' && status;
        }, `the run is over (${moment}, ${one}, ${other})`);
        expect(['gone', 'interrupted', 'success']).toContain(end);
        if (![one, other].some((query) => query.startsWith(ROLLBACK))) expect(end).not.toBe('gone');
        await joined;
        await made.free?.();
        // The thread is free, and stays usable; the end stays the end.
        await until(async () => {
          const thread = (await api.json('GET', `/threads/${made.thread}`)) as { status: string };
          return thread.status !== 'busy';
        }, 'the thread is free');
        expect((await api.send('POST', `${path}/cancel`)).status).toBe(end === 'gone' ? 404 : 409);
        expect((await api.send('POST', `/threads/${made.thread}/runs/wait`, echo)).status).toBe(200);
        const after = await api.send('GET', path);
        expect(after.status === 404 ? 'gone' : ((await after.json()) as { status: string }).status).toBe(end);
      }),
    );
  });
});

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
});
