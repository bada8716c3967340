import { Client } from '@langchain/langgraph-sdk';
import { describe, expect, it } from 'vitest';

import { gate, until, useAgent } from '../agentUnderTest.ts';
import { usePublicClient } from './client.ts';

const { agent, api } = useAgent();
const { client: publicClient, uncalled } = usePublicClient(() => agent().url, ['threads', 'runs']);

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('the public client', () => {
  it('creates threads with first states, changes, copies and finds them', async () => {
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
    const states = await threads.getHistory(id);
    expect(states).toMatchObject([{ metadata: { graph_id: 'steps' } }, { metadata: { graph_id: 'steps' } }]);
    await expect(
      threads.create({ graphId: 'steps', supersteps: [{ updates: [{ values: {}, asNode: 'nobody' }] }] }),
    ).rejects.toThrow('422');
    // Not supported, so it is refused instead of ignored.
    const command = { update: { text: 'x' } };
    await expect(
      threads.create({
        graphId: 'steps',
        supersteps: [{ updates: [{ values: undefined, command, asNode: 'first' }] }],
      }),
    ).rejects.toThrow('command');

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
    expect(await threads.prune([id, id])).toEqual({ pruned_count: 1 });
    expect((await threads.getState(copy.thread_id)).next).toEqual(['second']);
    expect(await threads.prune([copy.thread_id])).toEqual({ pruned_count: 1 });
    await expect(threads.get(id)).rejects.toThrow('404');
    const last = await threads.create({ threadId: id, ifExists: 'raise' });
    await threads.delete(last.thread_id);
  });

  it('gets no writes of nodes with a state that no node made, even if nodes went on from the one before', async () => {
    const { threads, runs } = publicClient();
    const { thread_id: id } = await threads.create();
    await runs.wait(id, 'steps', { input: { text: '0' } });
    const before = (await threads.getHistory(id)).find(({ next }) => next[0] === 'second');
    const checkpointId = before?.checkpoint.checkpoint_id ?? '';
    await runs.wait(id, 'steps', { checkpointId });
    await threads.updateState(id, { values: { log: ['by hand'] }, checkpointId });
    const made = (await threads.getHistory(id)).map(({ values, metadata }) => [
      metadata?.['source'],
      (values as { log: string[] }).log,
      metadata?.['writes'],
    ]);
    const second = ['loop', ['first', 'second'], { second: { log: ['second'] } }];
    expect(made.slice(0, 4)).toEqual([
      ['update', ['first', 'by hand'], null],
      second,
      ['fork', ['first'], null],
      second,
    ]);
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

  it('continues the streams of a run and of a thread whose connection breaks', async () => {
    const hold = gate();
    let breakOff = (): void => undefined;
    const breaking: typeof fetch = async (url, init) => {
      const { body, headers, status } = await fetch(url, init);
      const breaks = new TransformStream<Uint8Array, Uint8Array>({
        start: (controller) => {
          breakOff = () => controller.error(new TypeError('terminated'));
        },
      });
      return new Response(body?.pipeThrough(breaks) ?? null, { headers, status });
    };
    const { threads, runs } = new Client({
      apiUrl: agent().url,
      apiKey: null,
      callerOptions: { fetch: breaking },
    });
    const { thread_id: thread } = await threads.create();
    const input = { text: hold.path };
    const seen: string[] = [];
    for await (const { data } of runs.stream(thread, 'steps', {
      input,
      streamMode: 'updates',
      streamResumable: true,
    })) {
      seen.push(...Object.keys(data));
      if ('first' in data) {
        breakOff();
        await hold.open();
      }
    }
    expect(seen).toEqual(['run_id', 'attempt', 'first', 'run_id', 'attempt', 'second']);

    const again = gate();
    await runs.create(thread, 'steps', { input: { text: again.path } });
    const told: unknown[] = [];
    for await (const { data } of threads.joinStream(thread, { streamMode: ['lifecycle'] })) {
      const { status } = data as { status?: string };
      told.push(status);
      if (told.length === 1) breakOff();
      if (told.length === 2) await again.open();
      if (status === 'run_done') break;
    }
    expect(told).toEqual([undefined, undefined, 'run_done']);
  });

  it('follows a thread: its current run, and later ones', async () => {
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
    // A client that reconnects continues after its last event, even if runs have come and gone meanwhile.
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

  it('follows a thread’s states, and the starts and ends of its runs', async () => {
    const { threads, runs } = publicClient();
    const { thread_id: thread } = await threads.create({ graphId: 'steps' });
    const hold = gate();
    const run = await runs.create(thread, 'steps', { input: { text: hold.path } });
    // All fields of an event, as in the public Python server. Of a state, only its values.
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

  it('runs without threads: waits, streams, sends batches, and keeps threads on request', async () => {
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

  it('gets an error for a stream over a socket', async () => {
    const stream = publicClient().threads.stream({ assistantId: 'echo' });
    await expect(stream.run.start({ input: { text: 'x' } })).rejects.toThrow(/not served/);
    await stream.close();
  });

  it('calls every method of these resources in this test', () => {
    expect(uncalled()).toEqual([]);
  });
});
