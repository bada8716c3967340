import assert from 'node:assert/strict';

import { collectEvents, echo, gate, type ReadEvent, runOf } from '../runApiUnderTest.ts';
import { has, isText, isUuid } from './judging.ts';
import type { Row, ServerUnderTest } from './row.ts';

/** Contract 001, "What the service does" about streams, "Events", and "Feedback object". */
export const STREAM_ROWS: readonly Row[] = [
  event('a stream begins with run_id and attempt', async (server) => {
    const [first] = await server.stream(echo());
    has(first?.data, { run_id: isUuid, attempt: 1 });
  }),
  event('every event has an event line and a data line of JSON', async (server) => {
    const response = await server.api.send('POST', '/runs/stream', {
      ...echo(),
    });
    assert.match(response.headers.get('content-type') ?? '', /text\/event-stream/);
    for (const block of (await response.text()).split(/\r?\n\r?\n/).filter((each) => each.trim() !== '')) {
      const lines = block.split(/\r?\n/).filter((line) => !line.startsWith(':'));
      if (lines.length === 0) continue;
      assert.ok(
        lines.some((line) => line.startsWith('event: ')),
        block,
      );
      JSON.parse(lines.find((line) => line.startsWith('data: '))?.slice(6) ?? 'no data');
    }
  }),
  event('feedback: the keys with their links, when keys were given', async (server) => {
    const keys = ['good', 'bad'];
    const links = await server.feedbackLinks(keys);
    assert.deepEqual(Object.keys(links).sort(), [...keys].sort());
    assert.notEqual(links['good'], links['bad']);
    for (const link of Object.values(links)) assert.match(link, /\/api\/v1\/feedback\/tokens\/[^/]+$/);
    const without = await server.stream(echo());
    assert.ok(without.every((each) => each.event !== 'feedback'));
  }),
  event('updates: node name with its update', async (server) => {
    const events = await server.stream({
      ...echo(),
      stream_mode: 'updates',
    });
    has(dataOf(events, 'updates'), [{ say: { text: 'echo: x' } }]);
  }),
  event('updates: simultaneous updates in one step are streamed separately', async (server) => {
    const events = await server.stream({
      ...runOf('parent', 'x'),
      stream_mode: 'updates',
    });
    const nodes = dataOf(events, 'updates').map((data) => Object.keys(data as object).join());
    assert.deepEqual([nodes.slice(0, 2).sort(), nodes.slice(2)], [['left', 'right'], ['sub']]);
  }),
  event('messages: a pair of a chunk with content and metadata with graph_node', async (server) => {
    const pairs = dataOf(await server.stream({ ...CHAT, stream_mode: 'messages-tuple' }), 'messages');
    has(pairs[0], [{ content: () => true }, { graph_node: 'model' }]);
  }),
  mode('values: the full state after each super-step', async (events) => {
    has(dataOf(await events('echo', 'values'), 'values'), [
      { text: 'x', log: [] },
      { text: 'echo: x', log: [isText] },
    ]);
  }),
  mode('updates: after each step', async (events) => {
    assert.equal(dataOf(await events('parent', 'updates'), 'updates').length, 3);
  }),
  event('mode messages-tuple: tokens, also of a model that is only invoked', async (server) => {
    const pairs = dataOf(await server.stream({ ...CHAT, stream_mode: 'messages-tuple' }), 'messages');
    assert.ok(pairs.length > 3, `${pairs.length} chunks`);
    assert.equal(pairs.map((pair) => (pair as [{ content: string }])[0].content).join(''), 'one two three');
  }),
  mode('debug: with node names and full states', async (events) => {
    const data = dataOf(await events('echo', 'debug'), 'debug') as { type: string; payload: unknown }[];
    for (const type of ['checkpoint', 'task', 'task_result'])
      assert.ok(
        data.some((each) => each.type === type),
        type,
      );
    assert.ok(data.some((each) => (each.payload as { name?: string }).name === 'say'));
    has(data.findLast(({ type }) => type === 'checkpoint')?.payload, { values: { text: 'echo: x' } });
  }),
  mode('custom: what the graph sends', async (events) => {
    has(dataOf(await events('parent', 'custom'), 'custom'), [{ note: 'from inside' }]);
  }),
  mode('events: all events', async (events) => {
    const kinds = dataOf(await events('echo', 'events'), 'events').map((data) => (data as ReadEvent).event);
    for (const kind of ['on_chain_start', 'on_chain_stream', 'on_chain_end'])
      assert.ok(kinds.includes(kind), kind);
  }),
  {
    section: 'What the service does',
    row: 'streaming is resumable: a client that lost its stream follows on',
    check: async (server) => {
      const body = {
        ...runOf('parent', 'x'),
        stream_mode: ['updates'],
        stream_resumable: true,
      };
      const thread = await server.api.thread();
      const response = await server.api.send('POST', `/threads/${thread}/runs/stream`, body);
      const whole = (await collectEvents(response)).filter(({ event }) => event === 'updates');
      const path = `${response.headers.get('content-location') ?? ''}/stream`;
      const headers = { 'last-event-id': whole[0]?.id ?? '' };
      const resumed = await collectEvents(await server.api.send('GET', path, undefined, { headers }));
      assert.deepEqual(
        resumed.filter(({ event }) => event === 'updates'),
        whole.slice(1),
      );
    },
  },
  {
    section: 'What the service does',
    row: 'output produced before a join is not delivered',
    check: followsFromNowOn,
  },
];

const CHAT = { assistant_id: 'chat', input: { messages: [{ role: 'user', content: 'count' }] } };

/** A join follows a run from that moment: it delivers the second step's events, but not the first step's. */
export async function followsFromNowOn(server: ServerUnderTest): Promise<void> {
  const hold = gate();
  const { path } = await server.busy(hold.path, { stream_mode: ['updates'] });
  const response = await server.api.send('GET', `${path}/stream`);
  await hold.open();
  assert.deepEqual(dataOf(await collectEvents(response), 'updates'), [{ second: { log: ['second'] } }]);
}

function event(row: string, check: Row['check']): Row {
  return { section: 'Events', row, check };
}

/** A single stream mode: the stream has its events and those of every stream, and no others. */
function mode(
  row: string,
  check: (events: (graph: string, mode: string) => Promise<ReadEvent[]>) => Promise<void>,
): Row {
  return event(`mode ${row}`, (server) =>
    check(async (graph, streamMode) => {
      const body = { assistant_id: graph, input: { text: 'x' }, stream_mode: streamMode };
      const events = await server.stream(body);
      const others = events.filter(({ event }) => !['metadata', 'end', streamMode].includes(event));
      assert.deepEqual(others, []);
      return events;
    }),
  );
}

function dataOf(events: readonly ReadEvent[], name: string): unknown[] {
  return events.filter((each) => each.event === name).map((each) => each.data as unknown);
}
