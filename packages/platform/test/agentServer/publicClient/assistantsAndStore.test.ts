import { describe, expect, it } from 'vitest';

import { Assistant } from '@slipway/contract/runApi/assistant';
import { until, useAgent } from '../agentUnderTest.ts';
import { usePublicClient } from './client.ts';

const { agent } = useAgent();
const { client: publicClient, uncalled } = usePublicClient(
  () => agent().url,
  ['assistants', 'store', 'crons'],
);

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('the public client', () => {
  it('creates assistants of a graph, and runs them with their configuration', async () => {
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
    expect(await assistants.get(Assistant.parse(made).assistant_id)).toEqual(made);
    await expect(assistants.create({ graphId: 'made', assistantId: made.assistant_id })).rejects.toThrow(
      '409',
    );
    expect(
      await assistants.create({ graphId: 'made', assistantId: made.assistant_id, ifExists: 'do_nothing' }),
    ).toEqual(made);
    await expect(assistants.create({ graphId: 'nobody' })).rejects.toThrow('404');
    // As the configuration of a run: no limit would end the run.
    const config = { recursion_limit: 'many' as unknown as number };
    await expect(assistants.create({ graphId: 'made', config })).rejects.toThrow('422');
    await expect(assistants.update(made.assistant_id, { config })).rejects.toThrow('422');

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

    const waiting = await threads.create();
    await runs.create(waiting.thread_id, id, { input: {}, afterSeconds: 60 });

    await assistants.delete(id, { deleteThreads: true });
    await expect(assistants.get(id)).rejects.toThrow('404');
    await expect(threads.get(thread.thread_id)).rejects.toThrow('404');
    await expect(threads.get(waiting.thread_id)).rejects.toThrow('404');
    await expect(assistants.delete(id)).rejects.toThrow('404');
  });

  it('answers each of several concurrent changes with the version that it made', async () => {
    const { assistants } = publicClient();
    const { assistant_id: id } = await assistants.create({ graphId: 'made' });
    const names = Array.from({ length: 6 }, (_, index) => `change ${index}`);
    const changed = await Promise.all(names.map((name) => assistants.update(id, { name })));
    expect(changed.map(({ name }) => name)).toEqual(names);
    const versions = [1, 2, 3, 4, 5, 6];
    const chosen = await Promise.all(versions.map((version) => assistants.setLatest(id, version)));
    expect(chosen.map(({ version }) => version)).toEqual(versions);
  });

  it('creates versions of assistants, and returns to an earlier one', async () => {
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

  it('cannot change a graph’s own assistant', async () => {
    const { assistants } = publicClient();
    const [own] = await assistants.search({ graphId: 'echo' });
    expect(own).toMatchObject({ graph_id: 'echo', name: 'echo', version: 1 });
    const id = own?.assistant_id ?? '';
    await expect(assistants.update(id, { name: 'other' })).rejects.toThrow('cannot be changed');
    await expect(assistants.update('echo', { name: 'other' })).rejects.toThrow('cannot be changed');
    await expect(assistants.delete(id)).rejects.toThrow('cannot be changed');
    await expect(assistants.setLatest(id, 1)).rejects.toThrow('cannot be changed');
    expect(await assistants.getVersions(id)).toEqual([own]);
    expect(await assistants.getVersions(id, { metadata: { created_by: 'bo' } })).toEqual([]);
    await expect(assistants.create({ graphId: 'echo', assistantId: id })).rejects.toThrow('409');
  });

  it('finds assistants by graph, name and metadata, sorted, in pages, with selected fields', async () => {
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
    // JavaScript compares these the other way round than the database.
    const other = { metadata: { mark: [mark] } };
    for (const name of ['😀', '！']) await assistants.create({ graphId: 'ask', name, ...other });
    const page1 = await named({ ...other, sortBy: 'name', sortOrder: 'asc', limit: 1 });
    const page2 = await named({ ...other, sortBy: 'name', sortOrder: 'asc', limit: 1, offset: 1 });
    expect([page1, page2]).toEqual([['！'], ['😀']]);
  });

  it('reads a graph’s drawing, schemas and subgraphs', async () => {
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

  it('stores items, which graphs read and add to', async () => {
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
    expect(await keys([], { filter: { rank: {} } })).toEqual([]);
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

  it('stores items with a time to live, which a read renews', async () => {
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
    // A new item under the key of one that has expired.
    await store.putItem(['brief'], 'gone', {});
    const again = await store.getItem(['brief'], 'gone');
    expect(again?.createdAt).toBe(again?.updatedAt);
  });

  it('gets errors for items that cannot be stored', async () => {
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

  it('gets an error with an alternative for what is not served', async () => {
    const { crons } = publicClient();
    const told = /404.*Cron jobs are not served/;
    await expect(crons.create('echo', { schedule: '* * * * *' })).rejects.toThrow(told);
    await expect(crons.createForThread(UNKNOWN, 'echo', { schedule: '* * * * *' })).rejects.toThrow(told);
    await expect(crons.search()).rejects.toThrow(told);
    await expect(crons.count()).rejects.toThrow(told);
    await expect(crons.update(UNKNOWN, { enabled: false })).rejects.toThrow(told);
    await expect(crons.delete(UNKNOWN)).rejects.toThrow(told);
  });

  it('calls every method of these resources in this test', () => {
    expect(uncalled()).toEqual([]);
  });
});
