import { Client } from '@langchain/langgraph-sdk';
import { describe, expect, it } from 'vitest';

import { gate, until, useAgent } from './agentUnderTest.ts';

const { agent, api } = useAgent();

const ROOMS = ['threads', 'runs', 'assistants', 'store', 'crons'] as const;
type Room = (typeof ROOMS)[number];

/** What has been called of the public client, as `room.method`. */
const called = new Set<string>();

/** The public client, unchanged but for a note of what was called. Nothing is tried twice: the first answer counts. */
function publicClient(): Client {
  const client = new Client({ apiUrl: agent().url, apiKey: null, callerOptions: { maxRetries: 0 } });
  for (const room of ROOMS) {
    const own = client[room] as unknown as Record<string, unknown>;
    for (const method of methodsOf(client, room)) {
      const original = own[method] as (...given: unknown[]) => unknown;
      own[method] = (...given: unknown[]) => {
        called.add(`${room}.${method}`);
        return original.apply(own, given);
      };
    }
  }
  return client;
}

function methodsOf(client: Client, room: Room): string[] {
  return Object.getOwnPropertyNames(Object.getPrototypeOf(client[room])).filter(
    (name) => name !== 'constructor',
  );
}

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('the public client', () => {
  it('makes assistants of a graph, and runs them with what they are configured with', async () => {
    const { assistants, runs, threads } = publicClient();
    const made = await assistants.create({
      graphId: 'made',
      name: 'Polite',
      description: 'says please',
      config: { configurable: { word: 'please' } },
      context: { tone: 'soft' },
      metadata: { team: 'a', level: 1 },
    });
    expect(made).toMatchObject({ graph_id: 'made', version: 1, name: 'Polite', context: { tone: 'soft' } });
    expect(await assistants.get(made.assistant_id)).toEqual(made);
    await expect(assistants.create({ graphId: 'made', assistantId: made.assistant_id })).rejects.toThrow(
      '409',
    );
    expect(
      await assistants.create({
        graphId: 'made',
        assistantId: made.assistant_id,
        ifExists: 'do_nothing',
      }),
    ).toEqual(made);
    await expect(assistants.create({ graphId: 'nobody' })).rejects.toThrow('404');

    const { assistant_id: id } = made;
    expect(await runs.wait(null, id, { input: {} })).toMatchObject({ text: 'please' });
    const asked = { input: {}, config: { configurable: { word: 'now' } } };
    expect(await runs.wait(null, id, asked)).toMatchObject({ text: 'now' });
    const thread = await threads.create({ graphId: 'made', metadata: { of: 'polite' } });
    const run = await runs.create(thread.thread_id, id, { input: {} });
    expect(run.assistant_id).toBe(id);
    expect((run as unknown as { kwargs: unknown }).kwargs).toMatchObject({
      context: { tone: 'soft' },
      config: { configurable: { word: 'please', graph_id: 'made', assistant_id: id } },
    });
    await runs.join(thread.thread_id, run.run_id);
    expect((await threads.getState(thread.thread_id)).metadata).toMatchObject({
      graph_id: 'made',
      assistant_id: id,
    });

    await assistants.delete(id, { deleteThreads: true });
    await expect(assistants.get(id)).rejects.toThrow('404');
    await expect(threads.get(thread.thread_id)).rejects.toThrow('404');
    await expect(assistants.delete(id)).rejects.toThrow('404');
  });

  it('changes assistants in versions, and goes back to one', async () => {
    const { assistants } = publicClient();
    const { assistant_id: id } = await assistants.create({ graphId: 'made', metadata: { a: 1, b: 1 } });
    const second = await assistants.update(id, {
      graphId: 'made',
      name: 'second',
      config: { configurable: { word: 'two' } },
      metadata: { b: 2 },
    });
    expect(second).toMatchObject({ version: 2, name: 'second', metadata: { a: 1, b: 2 } });
    expect(await assistants.update(id, { name: 'third' })).toMatchObject({
      version: 3,
      config: { configurable: { word: 'two' } },
    });
    expect((await assistants.getVersions(id)).map(({ version, name }) => [version, name])).toEqual([
      [3, 'third'],
      [2, 'second'],
      [1, 'Untitled'],
    ]);
    expect(await assistants.getVersions(id, { limit: 1, offset: 1 })).toMatchObject([{ version: 2 }]);
    expect(await assistants.getVersions(id, { metadata: { b: 1 } })).toMatchObject([{ version: 1 }]);
    expect(await assistants.setLatest(id, 2)).toMatchObject({ version: 2, name: 'second' });
    expect(await assistants.update(id, { description: 'told' })).toMatchObject({
      version: 4,
      name: 'second',
    });
    await expect(assistants.setLatest(id, 9)).rejects.toThrow('no version 9');
    await assistants.delete(id);
  });

  it('leaves a graph’s own assistant as its source says', async () => {
    const { assistants } = publicClient();
    const [own] = await assistants.search({ graphId: 'echo' });
    expect(own).toMatchObject({ graph_id: 'echo', name: 'echo', version: 1 });
    const id = own?.assistant_id ?? '';
    await expect(assistants.update(id, { name: 'other' })).rejects.toThrow('cannot be changed');
    await expect(assistants.update('echo', { name: 'other' })).rejects.toThrow('cannot be changed');
    await expect(assistants.delete(id)).rejects.toThrow('cannot be changed');
    await expect(assistants.setLatest(id, 1)).rejects.toThrow('cannot be changed');
    expect(await assistants.getVersions(id)).toEqual([own]);
    await expect(assistants.create({ graphId: 'echo', assistantId: id })).rejects.toThrow('409');
  });

  it('finds assistants: by graph, name and metadata, in order, in pages, in part', async () => {
    const { assistants } = publicClient();
    const mark = crypto.randomUUID();
    const names = ['Beta', 'alpha', 'gamma'];
    for (const name of names) await assistants.create({ graphId: 'ask', name, metadata: { mark } });
    expect(await assistants.count({ metadata: { mark } })).toBe(3);
    expect(await assistants.count({ graphId: 'ask' })).toBe(4);
    const named = async (query: Parameters<typeof assistants.search>[0]) =>
      (await assistants.search({ metadata: { mark }, ...query })).map(({ name }) => name);
    expect(await named({ name: 'BET' })).toEqual(['Beta']);
    expect(await named({ sortBy: 'name', sortOrder: 'asc' })).toEqual(['Beta', 'alpha', 'gamma']);
    expect(await named({ sortBy: 'name', sortOrder: 'desc', limit: 1, offset: 1 })).toEqual(['alpha']);
    expect(await named({})).toEqual(['gamma', 'alpha', 'Beta']);
    const page = await assistants.search({ metadata: { mark }, limit: 2, includePagination: true });
    expect([page.assistants.length, page.next]).toEqual([2, '2']);
    const last = await assistants.search({ metadata: { mark }, offset: 2, includePagination: true });
    expect(last.next).toBeNull();
    expect(await assistants.search({ metadata: { mark }, limit: 1, select: ['name'] })).toEqual([
      { name: 'gamma' },
    ]);
    expect(await assistants.search({ graphId: 'nobody' })).toEqual([]);
  });

  it('looks at a graph: drawing, schemas, subgraphs', async () => {
    const { assistants } = publicClient();
    const drawn = await assistants.getGraph('parent');
    expect(drawn.nodes.map(({ id }) => id)).toEqual(
      expect.arrayContaining(['__start__', 'left', 'right', 'sub', '__end__']),
    );
    // A subgraph of one node is drawn as that node.
    expect(await assistants.getGraph('parent', { xray: true })).toEqual(
      await assistants.getGraph('parent', { xray: 1 }),
    );
    expect(await assistants.getSchemas('echo')).toMatchObject({
      graph_id: 'echo',
      state_schema: { type: 'object', properties: { text: {}, log: {} } },
      input_schema: { type: 'object' },
      output_schema: { type: 'object' },
      config_schema: { type: 'object' },
    });
    expect(Object.keys(await assistants.getSubgraphs('parent'))).toEqual(['sub']);
    expect(Object.keys(await assistants.getSubgraphs('parent', { namespace: 'sub', recurse: true }))).toEqual(
      ['sub'],
    );
    expect(await assistants.getSubgraphs('parent', { namespace: 'other' })).toEqual({});
    await expect(assistants.getGraph(UNKNOWN)).rejects.toThrow('404');
  });

  it('makes threads with first states, changes, copies and finds them', async () => {
    const { threads } = publicClient();
    const mark = crypto.randomUUID();
    const thread = await threads.create({
      graphId: 'steps',
      metadata: { mark },
      supersteps: [
        { updates: [{ values: { text: '0' }, asNode: '__start__' }] },
        { updates: [{ values: { log: ['by hand'] }, asNode: 'first' }] },
      ],
    });
    const { thread_id: id } = thread;
    expect(thread).toMatchObject({ status: 'interrupted', values: { text: '0', log: ['by hand'] } });
    expect((await threads.getState(id)).next).toEqual(['second']);
    await expect(
      threads.create({ graphId: 'steps', supersteps: [{ updates: [{ values: {}, asNode: 'nobody' }] }] }),
    ).rejects.toThrow('422');

    expect((await threads.update(id, { metadata: { more: 1 } })).metadata).toMatchObject({ mark, more: 1 });
    await threads.update(id, { metadata: { more: 2 }, returnMinimal: true });
    await threads.patchState(id, { again: true });
    await threads.patchState({ configurable: { thread_id: id } }, { even: 'more' });
    expect((await threads.get(id)).metadata).toMatchObject({ mark, more: 2, again: true, even: 'more' });
    const copy = await threads.copy(id);
    expect((await threads.getState(copy.thread_id)).next).toEqual(['second']);

    const ids = async (query: Parameters<typeof threads.search>[0]) =>
      (await threads.search({ metadata: { mark }, ...query })).map(({ thread_id }) => thread_id);
    expect(await threads.count({ metadata: { mark } })).toBe(2);
    expect(await threads.count({ metadata: { mark }, status: 'idle' })).toBe(0);
    expect(await ids({})).toEqual([copy.thread_id, id]);
    expect(await ids({ sortOrder: 'asc', limit: 1 })).toEqual([id]);
    expect(await ids({ ids: [id] })).toEqual([id]);
    expect(await ids({ values: { text: 'other' } })).toEqual([]);
    const [found] = await threads.search({
      ids: [id],
      select: ['thread_id', 'status'],
      extract: { last: 'values.log[-1]', all: '$.values.log', none: 'values.nothing.here' },
    });
    expect(found).toEqual({
      thread_id: id,
      status: 'interrupted',
      extracted: { last: 'by hand', all: ['by hand'], none: null },
    });

    await threads.updateState(id, { values: { text: '1' }, asNode: 'first' });
    const history = await threads.getHistory(id, { limit: 2 });
    expect(history.map(({ metadata }) => metadata?.['source'])).toEqual(['update', 'update']);
    const [newest, older] = history;
    expect(
      await threads.getHistory(id, { before: { configurable: { ...newest?.checkpoint } }, limit: 1 }),
    ).toEqual([older]);
    expect((await threads.getState(id, older?.checkpoint)).checkpoint).toEqual(older?.checkpoint);
    expect((await threads.getState(id, older?.checkpoint.checkpoint_id ?? '')).next).toEqual(['second']);

    expect(await threads.prune([id, UNKNOWN], { strategy: 'keep_latest' })).toEqual({ pruned_count: 1 });
    expect((await threads.getHistory(id)).map(({ checkpoint }) => checkpoint)).toEqual([newest?.checkpoint]);
    expect((await threads.getState(id)).values).toEqual({ text: '1', log: ['by hand'] });
    expect(await threads.prune([id, copy.thread_id, id])).toEqual({ pruned_count: 2 });
    await expect(threads.get(id)).rejects.toThrow('404');
    const last = await threads.create({ threadId: id, ifExists: 'raise' });
    await threads.delete(last.thread_id);
  });

  it('creates, lists, streams, joins, cancels and deletes runs', async () => {
    const { threads, runs } = publicClient();
    const hold = gate();
    const { thread_id: thread } = await threads.create();
    const first = await runs.create(thread, 'steps', {
      input: { text: hold.path },
      streamMode: ['updates', 'values'],
      metadata: { of: 'me' },
    });
    const second = await runs.create(thread, 'echo', { input: { text: 'x' }, multitaskStrategy: 'enqueue' });
    expect(await runs.list(thread, { limit: 1, offset: 1 })).toMatchObject([{ run_id: first.run_id }]);
    expect(await runs.list(thread, { status: 'pending', select: ['run_id'] })).toEqual([
      { run_id: second.run_id },
    ]);
    await api.untilLogged(thread, 1);
    const events: string[] = [];
    for await (const { event } of runs.joinStream(thread, first.run_id, { streamMode: 'updates' })) {
      events.push(event);
      await hold.open();
    }
    expect(events).toEqual(['metadata', 'updates']);
    expect(await runs.join(thread, second.run_id)).toMatchObject({ text: 'echo: x' });
    expect(await runs.get(thread, second.run_id)).toMatchObject({ status: 'success' });
    await runs.delete(thread, second.run_id);
    await expect(runs.get(thread, second.run_id)).rejects.toThrow('404');

    const long = () => runs.create(thread, 'steps', { input: { text: '60000' } });
    const cancelled = await long();
    await runs.cancel(thread, cancelled.run_id, true);
    expect((await runs.get(thread, cancelled.run_id)).status).toBe('interrupted');
    const many = await long();
    await runs.cancelMany({ threadId: thread, runIds: [many.run_id], action: 'rollback' });
    await until(
      () =>
        runs.get(thread, many.run_id).then(
          () => false,
          (error: unknown) => String(error).includes('404'),
        ),
      'the run is gone',
    );
    await expect(runs.cancelMany({ status: 'running' })).rejects.toThrow('404');
  });

  it('follows a thread: the run that is on, and those that come', async () => {
    const { threads, runs } = publicClient();
    const { thread_id: thread } = await threads.create({ graphId: 'steps' });
    const hold = gate();
    const long = await runs.create(thread, 'steps', { input: { text: hold.path }, streamMode: 'updates' });
    await api.untilLogged(thread, 1);
    const told: string[] = [];
    let lastId = '';
    const say = (event: string, data: unknown) => {
      const { run_id: runId, status } = data as { run_id?: string; status?: string };
      const which =
        runId === undefined ? Object.keys(data as object).join() : runId === long.run_id ? 'long' : 'short';
      told.push([event, which, status].filter((word) => word !== undefined).join(' '));
    };
    const short = () =>
      runs.create(thread, 'echo', {
        input: { text: 'x' },
        streamMode: 'updates',
        streamResumable: true,
        multitaskStrategy: 'enqueue',
      });
    for await (const { event, data, id } of threads.joinStream(thread)) {
      say(event, data);
      lastId = id ?? lastId;
      if (told.length === 1) {
        await short();
        await hold.open();
      }
      if (told.at(-1) === 'updates say') break;
    }
    expect(told).toEqual([
      'metadata long',
      'updates second',
      'metadata long run_done',
      'metadata short',
      'updates say',
    ]);
    // Who comes back goes on behind what was seen, also with runs that came and went meanwhile.
    await runs.wait(thread, 'echo', { input: { text: 'y' }, multitaskStrategy: 'enqueue' });
    await runs.join(thread, (await short()).run_id);
    told.length = 0;
    for await (const { event, data } of threads.joinStream(thread, { lastEventId: lastId })) {
      say(event, data);
      if (told.length === 7) break;
    }
    expect(told).toEqual([
      'metadata short',
      'metadata short run_done',
      'metadata short',
      'metadata short run_done',
      'metadata short',
      'updates say',
      'metadata short run_done',
    ]);
  });

  it('follows a thread’s states, and where its runs begin and end', async () => {
    const { threads, runs } = publicClient();
    const { thread_id: thread } = await threads.create({ graphId: 'steps' });
    const hold = gate();
    const run = await runs.create(thread, 'steps', { input: { text: hold.path } });
    // Every field of what is told, as the public Python server has them; of a state its values.
    const wholeOf = (data: Record<string, unknown>) =>
      'state' in data ? { ...data, state: (data['state'] as { values: unknown }).values } : data;
    const told: unknown[] = [];
    for await (const { event, data } of threads.joinStream(thread, {
      streamMode: ['lifecycle', 'state_update'],
    })) {
      told.push([event, wholeOf(data as Record<string, unknown>)]);
      if (told.length === 1) await hold.open();
      if (told.length === 3)
        await threads.updateState(thread, { values: { log: ['by hand'] }, asNode: 'first' });
      if (told.length === 4) break;
    }
    expect(told).toEqual([
      ['metadata', { run_id: run.run_id, attempt: 1 }],
      ['metadata', { status: 'run_done', run_id: run.run_id }],
      ['state_update', { thread_id: thread, state: { text: hold.path, log: ['first', 'second'] } }],
      [
        'state_update',
        { thread_id: thread, state: { text: hold.path, log: ['first', 'second', 'by hand'] } },
      ],
    ]);
    await threads.delete(thread);
    await expect(threads.joinStream(thread).next()).rejects.toThrow('404');
  });

  it('runs without threads: waited for, streamed, in batches, and kept where that is asked for', async () => {
    const { threads, runs } = publicClient();
    const seen: string[] = [];
    let created = '';
    for await (const { event } of runs.stream(null, 'echo', {
      input: { text: 'x' },
      onRunCreated: ({ run_id }) => (created = run_id),
    }))
      seen.push(event);
    expect(seen).toEqual(['metadata', 'values', 'values']);
    const again: string[] = [];
    for await (const { event } of runs.joinStream(null, created)) again.push(event);
    expect(again).toEqual(['metadata']);

    const batch = await runs.createBatch([
      { assistantId: 'echo', input: { text: 'one' } },
      { assistantId: 'made', input: {}, config: { configurable: { word: 'two' } } },
    ]);
    const answers = await Promise.all(
      (batch as unknown as { thread_id: string; run_id: string }[]).map((run) =>
        runs.join(run.thread_id, run.run_id),
      ),
    );
    expect(answers).toMatchObject([{ text: 'echo: one' }, { text: 'two' }]);
    const before = await threads.count();
    await expect(runs.createBatch([{ assistantId: 'echo' }, { assistantId: 'nobody' }])).rejects.toThrow(
      '404',
    );
    expect(await threads.count()).toBe(before);

    const kept = await runs.create(null, 'echo', { input: { text: 'kept' }, onCompletion: 'keep' as never });
    await runs.join(kept.thread_id, kept.run_id);
    expect((await threads.getState(kept.thread_id)).values).toMatchObject({ text: 'echo: kept' });
  });

  it('keeps items, which graphs see and add to', async () => {
    const { store, runs } = publicClient();
    await store.putItem(['notes', 'client'], 'told', { text: 'from a client', rank: 1, tags: ['a'] });
    const item = await store.getItem(['notes', 'client'], 'told');
    expect(item).toMatchObject({ namespace: ['notes', 'client'], key: 'told', value: { rank: 1 } });
    await store.putItem(['notes', 'client'], 'told', { text: 'from a client', rank: 2 });
    const again = await store.getItem(['notes', 'client'], 'told');
    expect(again?.value).toEqual({ text: 'from a client', rank: 2 });
    expect(again?.createdAt).toBe(item?.createdAt);
    expect(Date.parse(again?.updatedAt ?? '')).toBeGreaterThan(Date.parse(item?.updatedAt ?? ''));

    const kept = await runs.wait(null, 'remember', { input: { text: 'from a graph' } });
    expect(kept).toMatchObject({ log: ['from a graph', 'told', 'dated'] });
    const keys = async (prefix: string[], options = {}) =>
      (await store.searchItems(prefix, options)).items.map(({ key }) => key);
    expect(await keys(['notes'])).toEqual(['from a graph', 'told']);
    expect(await keys(['notes', 'graph'])).toEqual(['from a graph']);
    expect(await keys(['note'])).toEqual([]);
    expect(await keys([], { filter: { rank: { $gte: 2, $lt: 3 } } })).toEqual(['told']);
    expect(await keys([], { filter: { rank: { $gt: '1' } } })).toEqual([]);
    expect(await keys([], { filter: { rank: { $ne: 2 }, text: 'from a graph' } })).toEqual(['from a graph']);
    expect(await keys([], { filter: { rank: { $nin: [1, 2] } }, limit: 1, query: 'anything' })).toEqual([
      'from a graph',
    ]);
    expect(await keys([], { limit: 1, offset: 1 })).toEqual(['told']);
    await expect(keys([], { filter: { rank: { $near: 2 } } })).rejects.toThrow('422');

    const found = async (options: Parameters<typeof store.listNamespaces>[0]) =>
      (await store.listNamespaces(options)).namespaces;
    await store.putItem(['other', 'client', 'deep'], 'x', {});
    expect(await found({})).toEqual([
      ['notes', 'client'],
      ['notes', 'graph'],
      ['other', 'client', 'deep'],
    ]);
    expect(await found({ prefix: ['*', 'client'], maxDepth: 2 })).toEqual([
      ['notes', 'client'],
      ['other', 'client'],
    ]);
    expect(await found({ prefix: ['notes'], suffix: ['graph'] })).toEqual([['notes', 'graph']]);
    expect(await found({ maxDepth: 1, offset: 1, limit: 5 })).toEqual([['other']]);

    await store.deleteItem(['notes', 'client'], 'told');
    await store.deleteItem(['notes', 'client'], 'told');
    expect(await store.getItem(['notes', 'client'], 'told')).toBeNull();
  });

  it('gives items a time, which reading them begins anew', async () => {
    const { store } = publicClient();
    const millisecond = 1 / 60_000;
    await store.putItem(['brief'], 'gone', {}, { ttl: millisecond });
    await store.putItem(['brief'], 'here', {}, { ttl: 10 });
    await until(async () => (await store.getItem(['brief'], 'gone')) === null, 'the item has had its time');
    expect(await store.getItem(['brief'], 'here', { refreshTtl: true })).not.toBeNull();
    expect((await store.searchItems(['brief'], { refreshTtl: false })).items).toMatchObject([
      { key: 'here' },
    ]);
    expect((await store.listNamespaces({ prefix: ['brief'] })).namespaces).toEqual([['brief']]);
  });

  it('is refused items that cannot be kept', async () => {
    const { store } = publicClient();
    await expect(store.putItem([], 'x', {})).rejects.toThrow('422');
    await expect(store.putItem([''], 'x', {})).rejects.toThrow('422');
    await expect(store.putItem(['a'], '', {})).rejects.toThrow('422');
    await expect(store.putItem(['a'], 'x'.repeat(1_001), {})).rejects.toThrow('1000 bytes');
    await expect(store.putItem(['a'], 'x', { text: '\0' })).rejects.toThrow('U+0000');
    await expect(store.putItem(['a'], 'x', 'text' as never)).rejects.toThrow('422');
    const widest = Array.from({ length: 111 }, () => 'x');
    await store.putItem(widest, 'x'.repeat(992), { widest: true });
    expect((await store.searchItems(widest)).items).toMatchObject([{ value: { widest: true } }]);
    await store.deleteItem(widest, 'x'.repeat(992));
  });

  it('is told what is not served, and what to do instead', async () => {
    const { crons, threads } = publicClient();
    const told = /404.*Cron jobs are not served/;
    await expect(crons.create('echo', { schedule: '* * * * *' })).rejects.toThrow(told);
    await expect(crons.createForThread(UNKNOWN, 'echo', { schedule: '* * * * *' })).rejects.toThrow(told);
    await expect(crons.search()).rejects.toThrow(told);
    await expect(crons.count()).rejects.toThrow(told);
    await expect(crons.update(UNKNOWN, { enabled: false })).rejects.toThrow(told);
    await expect(crons.delete(UNKNOWN)).rejects.toThrow(told);
    const stream = threads.stream({ assistantId: 'echo' });
    await expect(stream.run.start({ input: { text: 'x' } })).rejects.toThrow(/not served/);
    await stream.close();
  });

  it('has been used for everything that it offers', () => {
    const client = publicClient();
    const offered = ROOMS.flatMap((room) => methodsOf(client, room).map((method) => `${room}.${method}`));
    expect([...called].sort()).toEqual(offered.sort());
  });
});
