/* eslint-disable @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { Thread, ThreadState } from '@slipway/contract/runApi/thread';
import { echo, gate, odd, runOf, steps, useAgent } from './agentUnderTest.ts';
import { collectEvents } from './runApiUnderTest.ts';

const { api } = useAgent();

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('threads', () => {
  it('have an empty state and no history when they are new', async () => {
    const { thread_id: id } = Thread.parse(await api.json('POST', '/threads'));
    const state = ThreadState.parse(await api.state(id));
    expect(state).toMatchObject({ values: {}, next: [], tasks: [], checkpoint_id: null });
    expect((await api.send('GET', `/threads/${id}/state/of-another-thread`)).status).toBe(404);
    expect(await api.json('POST', `/threads/${id}/history`, {})).toEqual([]);
  });

  it('keep a requested id, and reject it the second time', async () => {
    const thread_id = crypto.randomUUID();
    await api.json('POST', '/threads', { thread_id, metadata: { a: 1 } });
    expect((await api.send('POST', '/threads', { thread_id })).status).toBe(409);
    const again = await api.json('POST', '/threads', { thread_id, if_exists: 'do_nothing' });
    expect(again.metadata).toEqual({ a: 1 });
    // States are made only for a new thread. If they cannot be made, that thread is removed, but never an earlier one.
    const supersteps = [{ updates: [{ values: {}, as_node: 'nobody' }] }];
    const retried = await api.json('POST', '/threads', { thread_id, if_exists: 'do_nothing', supersteps });
    expect(retried).toEqual(again);
    expect(await api.threadOf(thread_id)).toEqual(again);
  });

  it('are patched without an answer if one of several preferences asks for that', async () => {
    const path = `/threads/${await api.thread()}`;
    const headers = { prefer: 'respond-async, return="minimal"' };
    expect((await api.send('PATCH', path, { metadata: { a: 1 } }, { headers })).status).toBe(204);
    expect(await api.json('GET', path)).toMatchObject({ metadata: { a: 1 } });
  });

  it('are searched by values, but not found by them while one of those is not valid Unicode', async () => {
    const thread = await api.thread();
    const search = async (values: object) =>
      ((await api.json('POST', '/threads/search', { ids: [thread], values })) as unknown[]).length;
    const found = async (text: string) => {
      await api.wait(thread, echo(text));
      return search({ log: [] });
    };
    // A new thread has no values.
    expect([await search({}), await search({ log: [] })]).toEqual([1, 0]);
    expect(await found('\0')).toBe(0);
    expect(await found('\ud83d')).toBe(0);
    expect(await found('\\ud83d\\\\u0000')).toBe(1);
  });

  it('answer 422 with the place of an invalid path or body', async () => {
    const thread = await api.thread();
    const bad = async (path: string, body: unknown) => {
      const response = await api.send('POST', path, body);
      expect(response.status).toBe(422);
      return ((await response.json()) as { detail: { loc: unknown[] }[] }).detail.map((issue) => issue.loc);
    };
    expect(await bad('/threads/nonsense/runs', { assistant_id: 'echo' })).toEqual([['path', 'thread_id']]);
    expect(await bad(`/threads/${thread}/runs`, {})).toEqual([['body', 'assistant_id']]);
    expect(await bad(`/threads/${thread}/runs`, { assistant_id: 'echo', timeout: -1 })).toEqual([
      ['body', 'timeout'],
    ]);
    expect(await bad('/threads', { metadata: { a: '\0' } })).toEqual([['body', 'metadata']]);
    expect(await bad(`/threads/${thread}/history`, { metadata: { '\0': 'a' } })).toEqual([
      ['body', 'metadata'],
    ]);
    expect(await bad(`/threads/${thread}/history`, { before: { checkpoint_id: '\0' } })).toEqual([
      ['body', 'before'],
    ]);
    for (const id of ['\0', '\ud800', 5]) {
      const configurable = { checkpoint_id: id };
      expect(
        await bad(`/threads/${thread}/runs/wait`, { assistant_id: 'echo', config: { configurable } }),
      ).toEqual([['body', 'config', 'configurable', 'checkpoint_id']]);
    }
    const config = { configurable: { user_id: '\0' } };
    expect(await bad(`/threads/${thread}/runs`, { assistant_id: 'echo', config })).toEqual([
      ['body', 'config'],
    ]);
    const tooDeep = `{"metadata":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`;
    for (const text of ['{', tooDeep]) {
      expect((await api.send('POST', '/threads', undefined, { body: text })).status).toBe(422);
    }
  });
});

it.each([`/threads/${UNKNOWN}/runs/wait`, `/threads/${UNKNOWN}/runs/stream`, '/threads/search'])(
  'GET %s answers 405, because the path is no run or thread',
  async (path) => {
    const response = await api.send('GET', path);
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST']);
  },
);

describe('state written by hand', () => {
  it('is readable, and forks from an earlier checkpoint without mixing the branches', async () => {
    const thread = await api.thread();
    await api.wait(thread, echo('one'));
    const history = await api.json('POST', `/threads/${thread}/history`, {});
    const fork = await api.json('POST', `/threads/${thread}/state`, {
      values: { text: 'by hand' },
      as_node: 'say',
      checkpoint_id: history[1].checkpoint_id,
    });
    expect(fork.checkpoint.checkpoint_id).toBe(fork.checkpoint_id);
    const state = await api.state(thread);
    expect(state).toMatchObject({ values: { text: 'by hand', log: [] }, metadata: { source: 'update' } });
    const old = await api.json('GET', `/threads/${thread}/state/${history[0].checkpoint_id}`);
    expect(old.values).toEqual({ text: 'echo: one', log: ['hello from graph.json'] });
    expect((await api.threadOf(thread)).values.text).toBe('by hand');
    const refused = await api.send('POST', `/threads/${thread}/state`, {
      values: { text: 'x' },
      as_node: 'nobody',
    });
    expect(refused.status).toBe(422);
  });

  it('by several clients at once has what each of them wrote', async () => {
    const thread = await api.thread();
    await api.wait(thread, steps());
    const names = ['a', 'b', 'c', 'd'];
    const write = (name: string) =>
      api.json('POST', `/threads/${thread}/state`, { values: { log: [name] }, as_node: 'second' });
    await Promise.all(names.map(write));
    const { log } = (await api.state(thread)).values as { log: string[] };
    expect(log.slice(2).sort()).toEqual(names);
  });

  it('needs a node if none has run before the thread was interrupted', async () => {
    const thread = await api.thread();
    const command = { update: { text: 'v' } };
    await api.wait(thread, { assistant_id: 'echo', command, interrupt_before: ['say'] });
    const path = `/threads/${thread}/state`;
    const refused = await api.send('POST', path, { values: { text: 'x' } });
    expect([refused.status, await refused.text()]).toEqual([422, expect.stringContaining('as_node')]);
    expect((await api.send('POST', path, { values: { text: 'x' }, as_node: 'say' })).status).toBe(200);
  });

  it('that was updated by hand replaces the error of the failed run', async () => {
    const thread = await api.thread();
    await api.wait(thread, odd('throw'));
    expect(await api.threadOf(thread)).toMatchObject({ status: 'error', error: { error: 'RangeError' } });
    await api.json('POST', `/threads/${thread}/state`, { values: { text: 'repaired' }, as_node: 'act' });
    const updated = await api.threadOf(thread);
    expect(updated).toMatchObject({ status: 'idle', values: { text: 'repaired' } });
    expect(updated).not.toHaveProperty('error');
  });

  it('by a node is refused, with the reason, if its thread is unknown or busy', async () => {
    const thread = await api.thread();
    const { thread_id: other } = await api.json('POST', '/threads', { metadata: { graph_id: 'byHand' } });
    const update = (text: string) => api.wait(thread, runOf('updateElsewhere', text));
    await update(other);
    expect((await api.state(other)).values.log).toEqual(['from elsewhere']);
    const { __error__: busy } = await update(thread);
    expect(busy.message).toBe(`Thread ${thread} is busy with a run.`);
    for (const unknown of [UNKNOWN, 'of another service', String(other).toUpperCase()]) {
      const { __error__: error } = await update(unknown);
      expect(error.message).toBe(`Thread ${unknown} not found.`);
    }
  });

  it('under the namespace of no subgraph answers 404', async () => {
    const thread = await api.thread();
    await api.wait(thread, echo('one'));
    const answer = await api.send('POST', `/threads/${thread}/state`, {
      values: { text: 'x' },
      checkpoint: { checkpoint_ns: 'nowhere' },
    });
    expect(answer.status).toBe(404);
    expect(await answer.json()).toEqual({ detail: 'Subgraph "nowhere" not found.' });
  });
});

it('a thread’s history shows what nodes wrote, also if a filter leaves out the states before', async () => {
  const thread = await api.thread();
  await api.wait(thread, steps());
  const history = (metadata: object) => api.json('POST', `/threads/${thread}/history`, { metadata });
  const states = await history({});
  expect(states[1].metadata.writes).toEqual({ first: { log: ['first'] } });
  expect(await history({ step: 1 })).toEqual([states[1]]);
});

it('a checkpoint’s id is accepted in upper case, like every other id', async () => {
  const thread = await api.thread();
  await api.wait(thread, echo('one'));
  const path = `/threads/${thread.toUpperCase()}`;
  const [newest, ...earlier] = await api.json('POST', `${path}/history`, {});
  const checkpoint_id = String(newest.checkpoint_id).toUpperCase();
  expect(await api.json('GET', `${path}/state/${checkpoint_id}`)).toMatchObject({ values: newest.values });
  const found = await api.json('POST', `${path}/state/checkpoint`, { checkpoint: { checkpoint_id } });
  expect(found.checkpoint_id).toBe(newest.checkpoint_id);
  for (const before of [checkpoint_id, { checkpoint_id }, { configurable: { checkpoint_id } }])
    expect(await api.json('POST', `${path}/history`, { before })).toEqual(earlier);
  expect(await api.json('GET', `${path}/history?before=${checkpoint_id}`)).toEqual(earlier);
  for (const from of [
    { checkpoint_id },
    { checkpoint: { checkpoint_id } },
    { config: { configurable: { checkpoint_id } } },
  ])
    await api.wait(thread, { assistant_id: 'echo', ...from });
  await api.json('POST', `${path}/state`, { values: { text: 'two' }, as_node: 'say', checkpoint_id });
});

describe('a run from an earlier checkpoint', () => {
  it.each([
    [
      'checkpoint_id',
      (checkpoint: unknown) => ({ checkpoint_id: (checkpoint as { checkpoint_id: string }).checkpoint_id }),
    ],
    ['checkpoint', (checkpoint: unknown) => ({ checkpoint })],
    ['configuration', (checkpoint: unknown) => ({ config: { configurable: checkpoint } })],
  ])('continues from there, by its %s, and keeps later checkpoints', async (_, from) => {
    const thread = await api.thread();
    const path = `/threads/${thread}`;
    await api.json('POST', `${path}/runs/wait`, steps());
    const history = await api.json('GET', `${path}/history`);
    const [last, afterFirst] = history;
    expect(afterFirst.next).toEqual(['second']);
    await api.json('POST', `${path}/state`, { values: { log: ['by hand'] }, as_node: 'second' });
    const run = { assistant_id: 'steps', ...from(afterFirst.checkpoint) };
    expect((await api.json('POST', `${path}/runs/wait`, run)).log).toEqual(['first', 'second']);
    const states: { checkpoint_id: string; parent_checkpoint_id: string | null }[] = await api.json(
      'GET',
      `${path}/history`,
    );
    const ancestors: string[] = [];
    for (let at = states[0]; at !== undefined;) {
      const { parent_checkpoint_id: parent } = at;
      at = states.find(({ checkpoint_id: id }) => id === parent);
      if (at !== undefined) ancestors.push(at.checkpoint_id);
    }
    expect(ancestors).toContain(afterFirst.checkpoint_id);
    expect(ancestors).not.toContain(last.checkpoint_id);
    expect((await api.json('GET', `${path}/state/${last.checkpoint_id}`)).values).toEqual(last.values);
    const nowhere = { ...steps(), ...from({ checkpoint_id: UNKNOWN }) };
    for (const to of ['runs/wait', 'runs'])
      expect((await api.send('POST', `${path}/${to}`, nowhere)).status, to).toBe(404);
    const state = { values: {}, checkpoint_id: UNKNOWN };
    expect((await api.send('POST', `${path}/state`, state)).status).toBe(404);
  });
});

it('a copy of a busy thread has the state of the last completed step, and continues from there', async () => {
  const hold = gate();
  const thread = await api.thread();
  const run = await api.create(thread, steps(hold.path));
  await api.untilLogged(thread, 1);
  const copy = await api.json('POST', `/threads/${thread}/copy`);
  expect(copy).toMatchObject({ status: 'interrupted', values: { text: hold.path, log: ['first'] } });
  await hold.open();
  expect((await api.wait(copy.thread_id, { assistant_id: 'steps' })).log).toEqual(['first', 'second']);
  expect((await api.join(thread, run.run_id)).log).toEqual(['first', 'second']);
});

it('a copy of a failed thread shows its error, and its states have its id', async () => {
  const thread = await api.thread();
  await api.wait(thread, odd('throw'));
  const { status, error } = await api.threadOf(thread);
  const copy = await api.json('POST', `/threads/${thread}/copy`);
  expect(copy).toMatchObject({ status, error });
  const metadata = { thread_id: copy.thread_id };
  expect(await api.json('POST', `/threads/${copy.thread_id}/history`, { metadata })).not.toEqual([]);
});

describe('a graph that is a function of the configuration', () => {
  it('is built with the configuration of its thread’s last run, and reports if that fails', async () => {
    const thread = await api.thread();
    const run = { assistant_id: 'picky', input: {}, config: { configurable: { word: 'please' } } };
    expect((await api.wait(thread, run)).text).toBe('please');
    expect((await api.threadOf(thread)).config.configurable).toEqual({ word: 'please' });
    expect((await api.state(thread)).values.text).toBe('please');
    const copy = await api.json('POST', `/threads/${thread}/copy`);
    expect((await api.state(copy.thread_id)).values.text).toBe('please');
    const other = await api.json('POST', '/threads', { metadata: { graph_id: 'picky' } });
    for (const path of [`/threads/${other.thread_id}/state`, '/assistants/picky/graph']) {
      const response = await api.send('GET', path);
      expect(response.status).toBe(409);
      expect(await response.json()).toEqual({ detail: expect.stringContaining('which word?') });
    }
    const failed = await api.wait(undefined, { assistant_id: 'picky', input: {} });
    expect(failed.__error__).toMatchObject({ message: 'which word?' });
  });
});

describe('pruning a thread with active runs', () => {
  const counting = steps();
  const prune = (thread: string, strategy: string) =>
    api.json('POST', '/threads/prune', { thread_ids: [thread], strategy });

  it('keeps the history that a rollback needs, and prunes after the last run', async () => {
    const thread = await api.thread();
    const path = `/threads/${thread}`;
    await api.json('POST', `${path}/runs/wait`, counting);
    const before = await api.json('GET', `${path}/state`);
    const run = await api.json('POST', `${path}/runs`, steps(60_000));
    await api.untilLogged(thread, 3);
    expect(await prune(thread, 'keep_latest')).toEqual({ pruned_count: 0 });
    const answer = await api.send('POST', `${path}/runs/${run.run_id}/cancel?action=rollback&wait=true`);
    expect(answer.status).toBe(204);
    expect(await api.json('GET', `${path}/state`)).toEqual(before);
    expect(await prune(thread, 'keep_latest')).toEqual({ pruned_count: 1 });
    expect(await api.json('GET', `${path}/history`)).toHaveLength(1);
    expect((await api.json('GET', `${path}/state`)).values).toEqual(before.values);
  });

  it('deletes it with its runs on request, and tells their clients that they are gone', async () => {
    const thread = await api.thread();
    const run = await api.create(thread, steps(60_000));
    const joined = api.join(thread, run.run_id);
    const events = collectEvents(await api.send('GET', `/threads/${thread}/runs/${run.run_id}/stream`));
    const states = collectEvents(await api.send('GET', `/threads/${thread}/stream?stream_mode=state_update`));
    await api.untilLogged(thread, 1);
    expect(await prune(thread, 'delete')).toEqual({ pruned_count: 1 });
    expect(await states, 'the stream of the thread ends').toEqual([]);
    const gone = { error: 'RunRolledBack' };
    expect(await joined).toMatchObject({ __error__: gone });
    expect((await events).at(-1)).toMatchObject({ event: 'error', data: gone });
    expect((await api.send('GET', `/threads/${thread}`)).status).toBe(404);
  });
});
