/* eslint-disable @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { Run } from '@slipway/contract/runApi/run';
import { ThreadState } from '@slipway/contract/runApi/thread';
import { collectEvents, echo, odd, readEvents, runOf, steps, until, useAgent } from './agentUnderTest.ts';

const { agent, api } = useAgent();

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('a run', () => {
  it('has the shape of the schemas, and a Location header', async () => {
    const thread = await api.thread();
    const body = { ...echo('hi'), metadata: { commit: 'abc' } };
    const response = await api.send('POST', `/threads/${thread}/runs`, body);
    const run = Run.parse(await response.json());
    expect(response.headers.get('content-location')).toBe(`/threads/${thread}/runs/${run.run_id}`);
    expect(run.metadata).toEqual({ commit: 'abc' });
    await api.join(thread, run.run_id);
    const state = ThreadState.parse(await api.state(thread));
    const history = await api.json('POST', `/threads/${thread}/history`, {});
    expect(history.map((entry: { metadata: { step: number } }) => entry.metadata.step)).toEqual([1, 0, -1]);
    expect(history[1].checkpoint_id).toBe(state.parent_checkpoint_id);
    expect((await api.send('GET', `/threads/${thread}/state/${UNKNOWN}`)).status).toBe(404);
  });

  it('rejects keys that LangGraph reserves, from its request and its assistant', async () => {
    const reserved = { __pregel_checkpointer: {}, __pregel_resuming: true, __slipway_attempt: 99 };
    const assistant = await api.json('POST', '/assistants', {
      graph_id: 'echo',
      config: { configurable: { __pregel_scratchpad: { resume: [] }, word: 'preset' } },
    });
    const thread = await api.thread();
    const run = await api.create(thread, {
      assistant_id: assistant.assistant_id as string,
      input: { text: 'hi' },
      config: { configurable: { ...reserved, word: 'kept' } },
    });
    expect(Object.keys(run.kwargs.config.configurable).filter((key) => key.startsWith('__'))).toEqual([]);
    expect(run.kwargs.config.configurable.word).toBe('kept');
    expect(await api.join(thread, run.run_id)).toMatchObject({ text: 'echo: hi' });
  });

  it('ignores fields of its configuration that would replace parts of the server', async () => {
    const config = { callbacks: null, store: {}, maxConcurrency: 0, outputKeys: ['text'] };
    const answer = await api.wait(await api.thread(), { ...echo('hi'), config });
    expect(answer).toEqual({ text: 'echo: hi', log: ['hello from graph.json'] });
  });

  it('creates its thread on request', async () => {
    const thread = crypto.randomUUID();
    const body = { ...echo('a'), if_not_exists: 'create' };
    expect((await api.wait(thread, body)).text).toBe('echo: a');
    expect((await api.threadOf(thread)).metadata.graph_id).toBe('echo');
  });

  it('without a thread leaves none, and can still be read and joined', async () => {
    const before = await api.json('POST', '/threads/count', {});
    const response = await api.send('POST', '/runs', echo('alone'));
    const run = Run.parse(await response.json());
    expect(run.kwargs).toMatchObject({ temporary: true });
    const path = `/threads/${run.thread_id}/runs/${run.run_id}`;
    expect((await api.json('GET', `${path}/join`)).text).toBe('echo: alone');
    expect((await api.untilStatus(run.thread_id, run.run_id, 'success')).status).toBe('success');
    expect((await api.json('GET', `${path}/join`)).text).toBe('echo: alone');
    expect(await api.json('POST', '/threads/count', {})).toBe(before);
    expect((await api.send('GET', `/threads/${run.thread_id}`)).status).toBe(404);
    // A thread with its id would lose its state together with the run.
    const body = { ...echo('a'), if_not_exists: 'create' };
    for (const [path, request] of [
      ['/threads', { thread_id: run.thread_id }],
      ['/threads', { thread_id: run.thread_id, if_exists: 'do_nothing' }],
      [`/threads/${run.thread_id}/runs`, body],
    ] as const)
      expect((await api.send('POST', path, request)).status, path).toBe(409);
  });

  // The errors of each answer are in `conformance/`.
  it('that makes what is not JSON ends with an error, as do its thread and later joins', async () => {
    const thread = await api.thread();
    const run = await api.create(thread, odd('bigint'));
    const joined = await api.join(thread, run.run_id);
    const message = expect.stringContaining('.made is a big integer') as string;
    expect(joined.__error__).toEqual({ error: 'UnserializableValue', message });
    expect(await api.run(thread, run.run_id)).toMatchObject({ status: 'error', error: joined.__error__ });
    expect(await api.join(thread, run.run_id)).toEqual(joined);
    expect((await api.state(thread)).values.text).toBe('bigint');
    expect(await api.threadOf(thread)).toMatchObject({ status: 'error', error: joined.__error__ });
  });

  it('that leaves a rejected promise does not end the server', async () => {
    expect((await api.wait(undefined, odd('reject later'))).made).toBe('fine');
    await until(
      () => Promise.resolve(agent().stderr().includes('nobody catches this')),
      'the rejection is logged',
    );
    expect(await api.json('GET', '/ok')).toEqual({ ok: true });
  });

  it('that is canceled while its subgraph stores a checkpoint is no error of the server', async () => {
    const cancel = async () => {
      const thread = await api.thread();
      const run = await api.create(thread, runOf('parent', 'x'));
      await api.cancel(thread, run.run_id);
    };
    // Some are canceled at that moment.
    await Promise.all(Array.from({ length: 60 }, cancel));
    expect(agent().stderr()).not.toMatch(/"level":50.*has ended here|PromiseRejectionHandledWarning/u);
  });

  it('may have values that only look like serialized objects', async () => {
    const thread = await api.thread();
    const text = { lc: 1, type: 'constructor', id: ['no', 'Such'], kwargs: {} };
    const values = { text, log: [] };
    expect(await api.wait(thread, runOf('byHand', text))).toEqual(values);
    expect(await api.state(thread)).toMatchObject({ values });
  });

  it('of an entrypoint that waits leaves an object as its thread’s state', async () => {
    const thread = await api.thread();
    await api.wait(thread, runOf('repeat', 'ask'));
    expect(await api.state(thread)).toMatchObject({ values: {}, next: ['repeat'] });
    const resumed = await api.wait(thread, { assistant_id: 'repeat', command: { resume: 'this' } });
    expect(resumed).toEqual('this');
  });

  it.each(['text', 0, null, [1, 2]])(
    'of an entrypoint that returns %j has that as its values',
    async (text) => {
      const run = runOf('repeat', text);
      expect(await api.wait(undefined, run)).toEqual(text);
      const thread = await api.thread();
      expect(await api.wait(thread, run)).toEqual(text);
      const asked = await api.wait(thread, { ...run, input: { text: 'ask' } });
      expect(asked).toEqual({ __interrupt__: [expect.anything()] });
    },
  );

  it('of a graph that keeps no state can be joined later, too', async () => {
    const thread = await api.thread();
    const answer = await api.wait(thread, runOf('forgetful', 'x'));
    expect(answer.text).toBe('heard: x');
    const [run] = await api.runs(thread);
    expect(await api.join(thread, run.run_id)).toEqual(answer);
  });

  it('is not joined by HEAD, which would wait for an end that it does not show', async () => {
    const thread = await api.thread();
    const run = await api.create(thread, echo('hi'));
    await api.join(thread, run.run_id);
    const response = await api.send('HEAD', `/threads/${thread}/runs/${run.run_id}/join`);
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET');
  });

  it('can be deleted after it ends', async () => {
    const thread = await api.thread();
    const run = await api.create(thread, steps(60_000));
    const path = `/threads/${thread}/runs/${run.run_id}`;
    expect((await api.send('DELETE', path)).status).toBe(409);
    await api.send('POST', `${path}/cancel?wait=1`);
    expect((await api.send('DELETE', path)).status).toBe(204);
    expect((await api.send('GET', path)).status).toBe(404);
  });

  it('begins where its command sends it', async () => {
    const command = { goto: { node: 'say', input: { text: 'sent' } }, update: { log: ['updated'] } };
    const output = await api.wait(await api.thread(), { assistant_id: 'echo', command });
    expect(output).toEqual({ text: 'echo: sent', log: ['updated', 'hello from graph.json'] });
  });

  it('from a state where nothing is left to do answers that state, also when it is joined', async () => {
    const thread = await api.thread();
    await api.wait(thread, echo('one'));
    const byHand = { values: { text: 'by hand' } };
    const { checkpoint_id } = await api.json('POST', `/threads/${thread}/state`, byHand);
    await api.wait(thread, echo('two'));
    const branch = { assistant_id: 'echo', input: null, checkpoint_id };
    expect(await api.wait(thread, branch)).toMatchObject(byHand.values);
    const [{ run_id }] = await api.json('GET', `/threads/${thread}/runs`);
    expect(await api.join(thread, run_id)).toMatchObject(byHand.values);
    expect((await api.state(thread)).values.text).toBe('echo: two');
  });

  it('fails if the checkpoint that it branches off was rolled back while it waited', async () => {
    const thread = await api.thread();
    await api.create(thread, steps(60_000));
    const { checkpoint_id } = await api.untilLogged(thread, 1);
    const branch = { ...echo(), multitask_strategy: 'rollback', checkpoint_id };
    expect(await api.wait(thread, branch)).toMatchObject({ __error__: { error: 'CheckpointNotFound' } });
  });

  it.each(['input', 'update'])('with an %s that its graph rejects leaves its thread usable', async (kind) => {
    const thread = await api.thread();
    const chat = (given: object) => api.wait(thread, { assistant_id: 'chat', ...given });
    const hello = { input: { messages: [{ role: 'user', content: 'hello' }] } };
    await chat(hello);
    const invalid = { messages: [{ content: 'of no role' }] };
    const answer = await chat(kind === 'input' ? { input: invalid } : { command: { update: invalid } });
    expect(answer).toHaveProperty('__error__');
    expect((await api.send('POST', `/threads/${thread}/state`, { values: invalid })).status).toBe(422);
    expect((await api.state(thread)).values.messages).toHaveLength(2);
    expect((await chat(hello)).messages).toHaveLength(4);
  });

  it('replaces the update of the command before, if its node asks again', async () => {
    const thread = await api.thread();
    const run = (more: object) => api.wait(thread, { assistant_id: 'askMuch', ...more });
    await run({ input: { text: 'x' } });
    const asked = await run({ command: { resume: 'first', update: { text: 'one' } } });
    const resume = { [asked.__interrupt__[0].id]: 'second' };
    await run({ command: { resume, update: { text: 'two' } } });
    expect(await api.state(thread)).toMatchObject({ values: { text: 'two' }, next: [] });
    expect(await api.json('POST', `/threads/${thread}/history`, {})).toHaveLength(3);
  });

  it('starts after its delay', async () => {
    const thread = await api.thread();
    const began = Date.now();
    await api.wait(thread, { ...echo(), after_seconds: 0.3 });
    expect(Date.now() - began).toBeGreaterThanOrEqual(290);
  });

  it('pass a delayed run of their thread, also in the stream of the thread', async () => {
    const thread = await api.thread();
    const enqueued = { assistant_id: 'echo', multitask_strategy: 'enqueue' };
    const stream = await api.send('GET', `/threads/${thread}/stream?stream_mode=lifecycle`);
    const delayed = await api.create(thread, { ...enqueued, input: { text: 'late' }, after_seconds: 1 });
    const passed = await api.create(thread, { ...enqueued, input: { text: 'now' } });
    const done: unknown[] = [];
    for await (const { data } of readEvents(stream)) {
      const { status, run_id: runId } = data as { status?: string; run_id: string };
      if (status === 'run_done') done.push(runId);
      if (done.length === 2) break;
    }
    expect(done).toEqual([passed.run_id, delayed.run_id]);
  });
});

describe.concurrent('streams', () => {
  const stream = async (body: unknown) => collectEvents(await api.send('POST', '/runs/stream', body));

  it('in mode messages-tuple also name the node under the key of public clients', async () => {
    const events = await stream({
      assistant_id: 'chat',
      input: { messages: [{ role: 'user', content: 'count' }] },
      stream_mode: ['messages-tuple'],
    });
    const [token] = events.filter(({ event }) => event === 'messages').map(({ data }) => data as unknown[]);
    expect(token).toMatchObject([{ type: 'ai' }, { graph_node: 'model', langgraph_node: 'model' }]);
  });

  it('in mode values have the full state also with an interrupt', async () => {
    const events = await stream({ ...runOf('ask', 'x'), stream_mode: 'values' });
    expect(events.at(-1)?.data).toEqual({
      text: 'x',
      log: ['before'],
      __interrupt__: [{ id: expect.any(String) as string, value: 'what now?' }],
    });
  });

  it('in mode debug hide LangGraph’s internals', async () => {
    const events = await stream({ ...echo(), stream_mode: 'debug' });
    expect(JSON.stringify(events)).not.toMatch(/__pregel_(?!pull|push)|"callbacks"|"checkpointer"/);
  });

  it('carry one feedback link for a duplicate key, and its feedback is readable', async () => {
    const feedback_keys = ['good', 'bad', 'good'];
    const events = await stream({ ...echo(), feedback_keys });
    const links = events.find(({ event }) => event === 'feedback')?.data as Record<string, string>;
    const run_id = events[0]?.data.run_id as string;
    expect(Object.keys(links)).toEqual(['good', 'bad']);
    expect(links['good']).toMatch(`${agent().url}/api/v1/feedback/tokens/`);
    await fetch(links['good']!, { method: 'POST', body: JSON.stringify({ score: 1 }) });
    expect(await api.json('GET', `/api/v1/runs/${run_id}/feedback`)).toMatchObject([
      { key: 'good', score: 1, run_id },
    ]);
  });

  it('carry the feedback links also if the run has ended before they are joined', async () => {
    const thread = await api.thread();
    const { run_id } = await api.create(thread, {
      ...echo(),
      feedback_keys: ['good'],
    });
    const run = `/threads/${thread}/runs/${run_id}`;
    await api.json('GET', `${run}/join`);
    const events = await collectEvents(await api.send('GET', `${run}/stream`));
    expect(events.map(({ event }) => event)).toEqual(['metadata', 'feedback']);
    const { good } = events[1]?.data as Record<string, string>;
    expect((await fetch(good!, { method: 'POST', body: JSON.stringify({ score: 1 }) })).status).toBe(200);
  });

  it('of a resumable run begin at the start for Last-Event-ID -1, and now for one that is no id', async () => {
    const response = await api.send('POST', `/threads/${await api.thread()}/runs/stream`, {
      ...runOf('parent', 'x'),
      stream_mode: ['updates'],
      stream_resumable: true,
    });
    const path = `${response.headers.get('content-location')}/stream`;
    const whole = await collectEvents(response);
    const again = await api.send('GET', path, undefined, { headers: { 'last-event-id': '-1' } });
    expect(await collectEvents(again)).toEqual(whole);
    const unknown = await api.send('GET', path, undefined, { headers: { 'last-event-id': '9'.repeat(20) } });
    expect(await collectEvents(unknown), 'the output from now on').toEqual(whole.slice(0, 1));
  });

  it('end immediately for a failed run, with its error, whose id follows the last one seen', async () => {
    const thread = await api.thread();
    const run = await api.create(thread, odd('throw'));
    await api.join(thread, run.run_id);
    const headers = { 'last-event-id': '4' };
    const path = `/threads/${thread}/runs/${run.run_id}/stream`;
    expect(await collectEvents(await api.send('GET', path, undefined, { headers }))).toMatchObject([
      { event: 'metadata', data: { run_id: run.run_id, attempt: 1 } },
      { event: 'error', data: { error: 'RangeError', message: 'out of luck' }, id: '5' },
    ]);
  });
});

describe('a web page', () => {
  it('on this machine may send a preflight, and sees the run’s Location while it streams', async () => {
    const ask = (origin: string) =>
      fetch(`${agent().url}/runs/stream`, {
        method: 'OPTIONS',
        headers: { origin, 'access-control-request-method': 'POST' },
      });
    const origin = 'http://localhost:3000';
    expect((await ask(origin)).headers.get('access-control-allow-origin')).toBe(origin);
    const body = echo('hi');
    const streamed = await api.send('POST', '/runs/stream', body, { headers: { origin } });
    await collectEvents(streamed);
    expect(streamed.headers.get('access-control-allow-origin')).toBe(origin);
    expect(streamed.headers.get('access-control-expose-headers')).toContain('Content-Location');
    // An agent without a key refuses other sites' pages.
    const refused = await ask('https://evil.example');
    expect(refused.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('the server', () => {
  it('describes what it serves', async () => {
    expect(await api.json('GET', '/info')).toMatchObject({ revision_id: 'revision-1', serving: true });
    const response = await api.send('GET', '/nothing/here');
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ detail: 'Not Found' });
  });

  it('rejects a body of more than 16 MiB, and the sender receives the response', async () => {
    const large = { metadata: { large: 'x'.repeat(16 * 1_048_576) } };
    expect((await api.send('POST', '/threads', large)).status).toBe(413);
  });
});
