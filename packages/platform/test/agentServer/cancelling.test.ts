import { describe, expect, it } from 'vitest';

import { echo, gate, odd, runOf, steps, until, useAgent } from './agentUnderTest.ts';

const { api } = useAgent();

interface Made {
  readonly thread: string;
  readonly run_id: string;
  /** Releases what the run waits for. */
  readonly free?: () => Promise<unknown>;
}

const create = async (thread: string, body: object): Promise<Made> => {
  const run = (await api.create(thread, body)) as { run_id: string };
  return { thread, run_id: run.run_id };
};

/** The stages of a run, and how to bring a run there. */
const MOMENTS: Record<string, () => Promise<Made>> = {
  'just accepted': async () => create(await api.thread(), steps(60_000)),
  'waiting for its delay': async () => create(await api.thread(), { ...echo(), after_seconds: 600 }),
  'waiting behind another': async () => {
    const hold = gate();
    const first = await create(await api.thread(), steps(hold.path));
    return { ...(await create(first.thread, { ...echo(), multitask_strategy: 'enqueue' })), free: hold.open };
  },
  'in its second step': async () => {
    const made = await create(await api.thread(), steps(60_000));
    await api.untilLogged(made.thread, 1);
    return made;
  },
  'in a node that minds no signal': async () => {
    const made = await create(await api.thread(), odd('hang'));
    await api.untilStatus(made.thread, made.run_id, 'running');
    return made;
  },
  'about to end': async () => create(await api.thread(), echo()),
  'waiting for an answer': async () => {
    const made = await create(await api.thread(), runOf('ask', 'x'));
    await api.join(made.thread, made.run_id);
    return made;
  },
};

const ROLLBACK = '&action=rollback';
/** The queries of two concurrent cancels; the second one waits. */
const PAIRS = [
  ['?action=interrupt', '?wait=1'],
  ['?action=interrupt', `?wait=1${ROLLBACK}`],
  ['?action=rollback', '?wait=1'],
  ['?action=rollback', `?wait=1${ROLLBACK}`],
] as const;

describe.concurrent.each(Object.keys(MOMENTS))('a run that is %s', (moment) => {
  it('ends once even if two clients cancel it twice at the same time', { timeout: 60_000 }, async () => {
    await Promise.all(
      PAIRS.map(async ([one, other]) => {
        const made = await MOMENTS[moment]!();
        const path = `/threads/${made.thread}/runs/${made.run_id}`;
        const joined = api.send('GET', `${path}/join`).then((response) => response.text());
        const send = async (query: string) => (await api.send('POST', `${path}/cancel${query}`)).status;
        const answers = await Promise.all([one, other, one, other].map(send));
        // Accepted, or too late: the run has already ended, or is deleted.
        for (const status of answers) expect([202, 204, 404, 409]).toContain(status);
        const end = await until(async () => {
          const response = await api.send('GET', path);
          const { status } = (await response.json()) as { status?: string };
          return response.status === 404 ? 'gone' : status !== 'pending' && status !== 'running' && status;
        }, `the run is over (${moment}, ${one}, ${other})`);
        expect(['gone', 'interrupted', 'success']).toContain(end);
        if (![one, other].some((query) => query.includes('rollback'))) expect(end).not.toBe('gone');
        await joined;
        await made.free?.();
        // The thread is free and usable, and the run's end does not change.
        await until(async () => {
          const thread = (await api.threadOf(made.thread)) as { status: string };
          return thread.status !== 'busy';
        }, 'the thread is free');
        expect((await api.send('POST', `${path}/cancel`)).status).toBe(end === 'gone' ? 404 : 409);
        expect((await api.send('POST', `/threads/${made.thread}/runs/wait`, echo())).status).toBe(200);
        const after = await api.send('GET', path);
        expect(after.status === 404 ? 'gone' : ((await after.json()) as { status: string }).status).toBe(end);
      }),
    );
  });
});

const NEW_THREADS = [
  {},
  {
    metadata: { graph_id: 'steps', of: 'the test' },
    supersteps: [{ updates: [{ values: { log: ['by hand'] }, as_node: 'first' }] }],
  },
];

// Single cancellations, and each multitask strategy, are rows of `conformance/`.
describe('on a busy thread', () => {
  const busy = async (wait: number | string = 60_000) => {
    const thread = await api.thread();
    const run = await create(thread, steps(wait));
    await api.untilLogged(thread, 1);
    return { thread, run };
  };
  const enqueue = (thread: string) => create(thread, { ...echo(), multitask_strategy: 'enqueue' });

  it.each(NEW_THREADS)('a rollback of the first run restores the new thread of %j', async (body) => {
    const before = (await api.json('POST', '/threads', body)) as { thread_id: string };
    const { thread_id: thread } = before;
    const state = await api.state(thread);
    const run = await create(thread, odd('hang'));
    await api.untilStatus(thread, run.run_id, 'running');
    await api.cancel(thread, run.run_id, ROLLBACK);
    expect(await api.threadOf(thread)).toEqual({ ...before, updated_at: expect.any(String) });
    expect(await api.state(thread)).toEqual(state);
  });

  it('a rollback of the run that made its thread leaves a new thread', async () => {
    const thread = crypto.randomUUID();
    const run = await create(thread, { ...steps(60_000), if_not_exists: 'create' });
    await api.untilLogged(thread, 1);
    await api.cancel(thread, run.run_id, ROLLBACK);
    expect(await api.threadOf(thread)).toEqual(
      expect.objectContaining({ status: 'idle', metadata: {}, config: {}, values: null }),
    );
    expect(await api.json('POST', `/threads/${thread}/history`, {})).toEqual([]);
  });

  it('a rollback of a run that branched off an interrupt lets it wait again', async () => {
    const thread = await api.thread();
    const asking = runOf('askAndWait', '60000');
    await api.wait(thread, asking);
    const before = await api.state(thread);
    await api.wait(thread, asking);
    const branch = { assistant_id: 'askAndWait', checkpoint_id: before.checkpoint_id };
    const run = await create(thread, { ...branch, command: { resume: 'no' } });
    await api.untilLogged(thread, 1);
    await api.cancel(thread, run.run_id, ROLLBACK);
    expect(await api.json('GET', `/threads/${thread}/state/${before.checkpoint_id}`)).toEqual(before);
  });

  it.each([
    [0, ROLLBACK],
    [60, ROLLBACK],
    [60, ''],
  ])(
    'a run of another graph, begun after %d s, leaves the thread as it was if it is cancelled (%s)',
    async (after_seconds, query) => {
      const thread = await api.thread();
      const asked = {
        ...runOf('ask', 'x'),
        config: { tags: ['t'], metadata: { a: 1 }, configurable: { word: 'w', user_id: 'u' } },
        metadata: { of: 'the run' },
      };
      await api.wait(thread, asked);
      const [before, state] = [await api.threadOf(thread), await api.state(thread)];
      expect(before).toMatchObject({ status: 'interrupted', config: asked.config });
      const other = { ...odd('hang'), after_seconds };
      const run = await create(thread, other);
      if (after_seconds === 0) await api.untilStatus(thread, run.run_id, 'running');
      else expect(await api.state(thread)).toEqual(state);
      await api.cancel(thread, run.run_id, query);
      expect(await api.threadOf(thread)).toEqual({ ...before, updated_at: expect.any(String) });
      expect(await api.state(thread)).toEqual(state);
    },
  );

  it.each(['', ROLLBACK])(
    'the error of the last run stays if another one ends without effect (%s)',
    async (query) => {
      const thread = await api.thread();
      await api.wait(thread, odd('throw'));
      const before = await api.threadOf(thread);
      expect(before).toMatchObject({ status: 'error', error: { error: 'RangeError' } });
      const run = await create(thread, query === '' ? { ...echo(), after_seconds: 60 } : steps(60_000));
      if (query !== '') await api.untilLogged(thread, 1);
      await api.cancel(thread, run.run_id, query);
      expect(await api.threadOf(thread)).toEqual({ ...before, updated_at: expect.any(String) });
    },
  );

  it('the graph that a client has set stays if a run that has not begun is rolled back', async () => {
    const thread = await api.thread();
    await api.wait(thread, echo());
    const run = await create(thread, { ...echo(), after_seconds: 60 });
    await api.json('PATCH', `/threads/${thread}`, { metadata: { graph_id: 'steps' } });
    await api.cancel(thread, run.run_id, ROLLBACK);
    expect(await api.threadOf(thread)).toMatchObject({ metadata: { graph_id: 'steps' } });
  });

  it.each(NEW_THREADS)('a new thread of %j stays as it is if its first run has not begun', async (body) => {
    const before = (await api.json('POST', '/threads', body)) as { thread_id: string };
    const run = await create(before.thread_id, { ...echo(), after_seconds: 60 });
    await api.cancel(before.thread_id, run.run_id);
    const after = await api.threadOf(before.thread_id);
    expect(after).toEqual({ ...before, updated_at: expect.any(String) });
  });

  it('a rejected run, the default, leaves no trace', async () => {
    const { thread, run } = await busy();
    const response = await api.send('POST', `/threads/${thread}/runs`, echo());
    expect([response.status, await response.json()]).toEqual([
      409,
      { detail: expect.stringContaining(run.run_id) },
    ]);
    expect(await api.runs(thread)).toHaveLength(1);
    expect((await api.threadOf(thread)).status).toBe('busy');
    await api.cancel(thread, run.run_id);
  });

  it('runs with enqueue run in the order of their arrival', async () => {
    const hold = gate();
    const { thread, run } = await busy(hold.path);
    const second = await enqueue(thread);
    const third = await enqueue(thread);
    await hold.open();
    expect((await api.join(thread, second.run_id)).log).toEqual(['first', 'second', 'hello from graph.json']);
    expect((await api.join(thread, third.run_id)).log).toHaveLength(4);
    const newestFirst: Made[] = await api.runs(thread);
    expect(newestFirst.map((each) => each.run_id)).toEqual([third.run_id, second.run_id, run.run_id]);
  });

  it('a queued run can be cancelled either way without starting', async () => {
    const { thread, run } = await busy();
    const [kept, dropped] = [await enqueue(thread), await enqueue(thread)];
    await api.cancel(thread, kept.run_id);
    expect(await api.run(thread, kept.run_id)).toMatchObject({ status: 'interrupted', attempt: 0 });
    await api.cancel(thread, dropped.run_id, ROLLBACK);
    expect((await api.send('GET', `/threads/${thread}/runs/${dropped.run_id}`)).status).toBe(404);
    expect((await api.threadOf(thread)).status).toBe('busy');
    await api.cancel(thread, run.run_id);
    expect((await api.state(thread)).values.log).toEqual(['first']);
  });
});
