/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-return -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { gate, collectEvents, readEvents, useAgent } from './agentUnderTest.ts';

const { agent, api } = useAgent();

const input = (text: string) => ({ input: { text } });

describe.concurrent('streams', () => {
  const stream = async (body: unknown, path = '/runs/stream') =>
    collectEvents(await api.send('POST', path, body));
  const names = (events: { event: string }[]) =>
    events.map(({ event }) => event.replace(/:[0-9a-f-]{36}/g, ':*'));

  it('begin with the run and its attempt', async () => {
    const [first] = await stream({ assistant_id: 'echo', ...input('x') });
    expect(first).toMatchObject({ event: 'metadata', data: { run_id: expect.any(String), attempt: 1 } });
  });

  it.each([
    ['values', ['metadata', 'values', 'values', 'values']],
    ['updates', ['metadata', 'updates', 'updates', 'updates']],
    ['custom', ['metadata', 'custom']],
  ])('in mode %s carry that and nothing else', async (mode, expected) => {
    expect(names(await stream({ assistant_id: 'parent', ...input('x'), stream_mode: mode }))).toEqual(
      expected,
    );
  });

  it('in mode updates tell nodes of one step separately', async () => {
    const events = await stream({ assistant_id: 'parent', ...input('x'), stream_mode: 'updates' });
    expect(events.slice(1, 3).map(({ data }) => Object.keys(data as object))).toEqual([['left'], ['right']]);
  });

  it('in mode messages-tuple carry tokens with their node, of a model that is only invoked', async () => {
    const events = await stream({
      assistant_id: 'chat',
      input: { messages: [{ role: 'user', content: 'count' }] },
      stream_mode: ['messages-tuple'],
    });
    const tokens = events.filter(({ event }) => event === 'messages').map(({ data }) => data as any[]);
    expect(tokens.length).toBeGreaterThan(3);
    expect(tokens.map(([message]) => message.content).join('')).toBe('one two three');
    expect(tokens[0]?.[0]).toMatchObject({ type: 'ai' });
    // Under the contract's name, and under the one that public clients look for.
    expect(tokens[0]?.[1]).toMatchObject({ graph_node: 'model', langgraph_node: 'model' });
  });

  it('in mode debug tell tasks, their results and full states', async () => {
    const events = await stream({ assistant_id: 'echo', ...input('x'), stream_mode: 'debug' });
    const types = events.slice(1).map(({ data }) => (data as { type: string }).type);
    expect(new Set(types)).toEqual(new Set(['checkpoint', 'task', 'task_result']));
    expect(JSON.stringify(events)).not.toMatch(/__pregel_(?!pull|push)|"callbacks"|"checkpointer"/);
  });

  it('in mode events carry the trace, beside the other modes', async () => {
    const events = await stream({ assistant_id: 'echo', ...input('x'), stream_mode: ['events', 'values'] });
    const kinds = events
      .filter(({ event }) => event === 'events')
      .map(({ data }) => (data as { event: string }).event);
    expect(kinds).toEqual(expect.arrayContaining(['on_chain_start', 'on_chain_stream', 'on_chain_end']));
    expect(events.filter(({ event }) => event === 'values').at(-1)?.data).toMatchObject({ text: 'echo: x' });
  });

  it('with a list of modes tag each output, and with subgraphs name the graph it comes from', async () => {
    const events = await stream({
      assistant_id: 'parent',
      ...input('x'),
      stream_mode: ['updates', 'values', 'custom'],
      stream_subgraphs: true,
    });
    expect(names(events)).toEqual(
      expect.arrayContaining(['updates', 'values', 'updates|sub:*', 'values|sub:*', 'custom|sub:*']),
    );
  });

  it('carry one pre-signed link per feedback key, which records without a key', async () => {
    const events = await stream({
      assistant_id: 'echo',
      ...input('x'),
      feedback_keys: ['good', 'bad', 'good'],
    });
    const links = events.find(({ event }) => event === 'feedback')?.data as Record<string, string>;
    const run_id = events[0]?.data.run_id as string;
    expect(Object.keys(links)).toEqual(['good', 'bad']);
    expect(links['good']).toMatch(`${agent().url}/api/v1/feedback/tokens/`);
    const recorded = await fetch(links['good']!, { method: 'POST', body: JSON.stringify({ score: 1 }) });
    expect(recorded.status).toBe(200);
    expect(await api.json('GET', `/api/v1/runs/${run_id}/feedback`)).toMatchObject([
      { key: 'good', score: 1, run_id },
    ]);
  });

  it('joined late deliver only what comes then, to each reader', async () => {
    const hold = gate();
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input(hold.path),
      stream_mode: ['updates', 'values'],
    });
    await api.untilLogged(thread, 1);
    const path = `/threads/${thread}/runs/${run.run_id}/stream`;
    const responses = [await api.send('GET', path), await api.send('GET', `${path}?stream_mode=values`)];
    await hold.open();
    const [all = [], some = []] = await Promise.all(responses.map(collectEvents));
    expect(names(all)).toEqual(['metadata', 'updates', 'values']);
    expect(names(some)).toEqual(['metadata', 'values']);
    expect(all[1]?.data).toEqual({ second: { log: ['second'] } });
    expect(names(await api.send('GET', path).then(collectEvents))).toEqual(['metadata']);
  });

  it('of a resumable run go on behind the last event that was seen', async () => {
    const thread = await api.thread();
    const response = await api.send('POST', `/threads/${thread}/runs/stream`, {
      assistant_id: 'parent',
      ...input('x'),
      stream_mode: ['updates'],
      stream_resumable: true,
    });
    const location = response.headers.get('content-location')!;
    const whole = await collectEvents(response);
    const resumed = await api
      .send('GET', `${location}/stream`, undefined, { headers: { 'last-event-id': whole[1]!.id! } })
      .then(collectEvents);
    expect(resumed.slice(1)).toEqual(whole.slice(2));
    const fromTheStart = await api
      .send('GET', `${location}/stream`, undefined, { headers: { 'last-event-id': '-1' } })
      .then(collectEvents);
    expect(fromTheStart).toEqual(whole);
  });

  it('end at once for a run that failed, with its error', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'odd', ...input('throw') });
    await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    const events = await collectEvents(await api.send('GET', `/threads/${thread}/runs/${run.run_id}/stream`));
    expect(events).toMatchObject([
      { event: 'metadata', data: { run_id: run.run_id, attempt: 1 } },
      { event: 'error', data: { error: 'RangeError', message: 'out of luck' } },
    ]);
  });

  it('cut off a reader that does not read, and the run goes on', async () => {
    const response = await api.send('POST', '/runs/stream', {
      assistant_id: 'odd',
      ...input('flood'),
      stream_mode: 'custom',
    });
    const location = response.headers.get('content-location')!;
    expect(await api.json('GET', `${location}/join`)).toMatchObject({ made: 'flooded' });
    const events = await collectEvents(response);
    expect(events.at(-1)).toMatchObject({ event: 'error', data: { error: 'SlowReader' } });
    expect(events.length).toBeLessThan(2_000);
  });

  it('carry each event as it is made', async () => {
    const hold = gate();
    const body = { assistant_id: 'steps', ...input(hold.path), stream_mode: 'updates' };
    const seen: string[] = [];
    for await (const event of readEvents(await api.send('POST', '/runs/stream', body))) {
      seen.push(...Object.keys(event.data as object));
      // The second step waits for the first one to be read.
      if (seen.includes('first')) await hold.open();
    }
    expect(seen.slice(-2)).toEqual(['first', 'second']);
  });
});

describe.concurrent('a client that goes away', () => {
  const leave = async (path: string, body?: unknown) => {
    const gone = new AbortController();
    const thread = await api.thread();
    const method = body === undefined ? 'GET' : 'POST';
    let target = path.replace('{thread}', thread);
    if (body === undefined) {
      const made = await api.json('POST', `/threads/${thread}/runs`, {
        assistant_id: 'steps',
        ...input('60000'),
      });
      target = target.replace('{run}', made.run_id as string);
    }
    const response = await api.send(method, target, body, { signal: gone.signal });
    await api.untilLogged(thread, 1);
    const [run] = await api.json('GET', `/threads/${thread}/runs`);
    gone.abort();
    await response.text().catch(() => undefined);
    return { thread, run_id: run.run_id as string };
  };
  const steps = { assistant_id: 'steps', ...input('60000') };
  const runs = '/threads/{thread}/runs';

  it.each<[string, unknown]>([
    [`${runs}/wait`, { ...steps, on_disconnect: 'cancel' }],
    [`${runs}/wait?on_disconnect=cancel`, steps],
    [`${runs}/stream`, { ...steps, on_disconnect: 'cancel' }],
    [`${runs}/stream?on_disconnect=cancel`, steps],
    [`${runs}/{run}/join?cancel_on_disconnect=cancel`, undefined],
    [`${runs}/{run}/join?cancel_on_disconnect=1`, undefined],
    [`${runs}/{run}/stream?cancel_on_disconnect=true`, undefined],
  ])('cancels its run where it said so: %s %j', async (path, body) => {
    const { thread, run_id } = await leave(path, body);
    await api.untilStatus(thread, run_id, 'interrupted');
  });

  it.each<[string, unknown]>([
    [`${runs}/wait`, steps],
    [`${runs}/stream`, { ...steps, on_disconnect: 'continue' }],
    [`${runs}/{run}/join`, undefined],
    [`${runs}/{run}/stream?cancel_on_disconnect=0`, undefined],
  ])('leaves its run alone otherwise: %s %j', async (path, body) => {
    const { thread, run_id } = await leave(path, body);
    // The other client's request is served after the first one's end was noticed.
    await api.json('POST', '/runs/wait', { assistant_id: 'echo', ...input('x') });
    expect((await api.json('GET', `/threads/${thread}/runs/${run_id}`)).status).toBe('running');
    await api.send('POST', `/threads/${thread}/runs/${run_id}/cancel?wait=true`);
  });
});
