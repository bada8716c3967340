/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { Client } from '@langchain/langgraph-sdk';
import { describe, expect, it } from 'vitest';

import { Assistant } from '@slipway/contract/runApi/assistant';
import { Run } from '@slipway/contract/runApi/run';
import { ThreadState, ThreadStateMetadata } from '@slipway/contract/runApi/thread';
import { collectEvents, until, useAgent } from './agentUnderTest.ts';

const { agent, api } = useAgent();

const input = (text: string) => ({ input: { text } });

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('a run', () => {
  it('is pending when it is made, tells where it is, and succeeds', async () => {
    const thread = await api.thread();
    const response = await api.send('POST', `/threads/${thread}/runs`, {
      assistant_id: 'echo',
      ...input('hi'),
      metadata: { commit: 'abc' },
    });
    expect(response.status).toBe(200);
    const run = Run.parse(await response.json());
    expect(response.headers.get('content-location')).toBe(`/threads/${thread}/runs/${run.run_id}`);
    expect(run).toMatchObject({
      thread_id: thread,
      status: 'pending',
      multitask_strategy: 'reject',
      metadata: { commit: 'abc' },
      kwargs: {
        input: { text: 'hi' },
        config: {
          metadata: { created_by: 'system' },
          configurable: {
            run_id: run.run_id,
            user_id: '',
            graph_id: 'echo',
            thread_id: thread,
            assistant_id: run.assistant_id,
            checkpoint_id: null,
          },
        },
        webhook: null,
        temporary: false,
        stream_mode: ['values'],
        feedback_keys: null,
        interrupt_after: null,
        interrupt_before: null,
      },
    });
    expect(await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`)).toEqual({
      text: 'echo: hi',
      log: ['hello from graph.json'],
    });
    const done = await api.json('GET', `/threads/${thread}/runs/${run.run_id}`);
    expect(done).toMatchObject({ status: 'success', attempt: 1 });
    expect(await api.json('GET', `/threads/${thread}/runs`)).toEqual([done]);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('idle');
  });

  it('leaves a state with every field of the contract', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'echo', ...input('hi') });
    await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    const state = ThreadState.parse(await api.json('GET', `/threads/${thread}/state`));
    expect(state).toMatchObject({ values: { text: 'echo: hi' }, next: [], tasks: [] });
    expect(ThreadStateMetadata.parse(state.metadata)).toMatchObject({
      step: 1,
      run_id: run.run_id,
      source: 'loop',
      writes: { say: { text: 'echo: hi' } },
      user_id: '',
      graph_id: 'echo',
      thread_id: thread,
      created_by: 'system',
      assistant_id: run.assistant_id,
    });
    const history = await api.json('POST', `/threads/${thread}/history`, {});
    expect(history.map((entry: { metadata: { step: number } }) => entry.metadata.step)).toEqual([1, 0, -1]);
    expect(history[0].checkpoint_id).toBe(state.checkpoint_id);
    expect(history[1].checkpoint_id).toBe(state.parent_checkpoint_id);
    const earlier = await api.json('GET', `/threads/${thread}/state/${history[1].checkpoint_id}`);
    expect(earlier).toMatchObject({ values: { text: 'hi' }, next: ['say'] });
    expect((await api.json('GET', `/threads/${thread}/history?limit=1`)).length).toBe(1);
    expect((await api.send('GET', `/threads/${thread}/state/${UNKNOWN}`)).status).toBe(404);
  });

  it('is addressed by the graph name or by the assistant id', async () => {
    const [assistant] = await api.json('POST', '/assistants/search', { graph_id: 'made' });
    expect(Assistant.parse(await api.json('GET', `/assistants/${assistant.assistant_id}`))).toMatchObject({
      graph_id: 'made',
    });
    const answer = await api.json('POST', '/runs/wait', {
      assistant_id: assistant.assistant_id,
      input: {},
      config: { configurable: { word: 'made to measure' } },
    });
    expect(answer.text).toBe('made to measure');
    expect((await api.send('GET', `/assistants/${UNKNOWN}`)).status).toBe(404);
    const unknown = await api.send('POST', '/runs/wait', { assistant_id: 'nobody' });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({ detail: 'Assistant nobody not found.' });
  });

  it('takes no keys that are for LangGraph’s own use, whether its request or its assistant has them', async () => {
    const reserved = { __pregel_checkpointer: {}, __pregel_resuming: true, __slipway_attempt: 99 };
    const assistant = await api.json('POST', '/assistants', {
      graph_id: 'echo',
      config: { configurable: { __pregel_scratchpad: { resume: [] }, word: 'preset' } },
    });
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: assistant.assistant_id as string,
      ...input('hi'),
      config: { configurable: { ...reserved, word: 'kept' } },
    });
    expect(Object.keys(run.kwargs.config.configurable).filter((key) => key.startsWith('__'))).toEqual([]);
    expect(run.kwargs.config.configurable.word).toBe('kept');
    expect(await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`)).toMatchObject({
      text: 'echo: hi',
    });
  });

  it('makes its thread where that is asked for', async () => {
    const thread = crypto.randomUUID();
    const body = { assistant_id: 'echo', ...input('a'), if_not_exists: 'create' };
    expect((await api.json('POST', `/threads/${thread}/runs/wait`, body)).text).toBe('echo: a');
    expect((await api.json('GET', `/threads/${thread}`)).metadata.graph_id).toBe('echo');
  });

  it('without a thread leaves none, and can still be looked at and joined', async () => {
    const before = await api.json('POST', '/threads/count', {});
    const response = await api.send('POST', '/runs', { assistant_id: 'echo', ...input('alone') });
    const run = Run.parse(await response.json());
    expect(run.kwargs).toMatchObject({ temporary: true });
    const path = `/threads/${run.thread_id}/runs/${run.run_id}`;
    expect((await api.json('GET', `${path}/join`)).text).toBe('echo: alone');
    expect((await api.untilStatus(run.thread_id, run.run_id, 'success')).status).toBe('success');
    expect((await api.json('GET', `${path}/join`)).text).toBe('echo: alone');
    expect(await api.json('POST', '/threads/count', {})).toBe(before);
    expect((await api.send('GET', `/threads/${run.thread_id}`)).status).toBe(404);
  });

  it.each([
    ['throw', 'RangeError', 'out of luck'],
    ['bigint', 'UnserializableValue', '.made is a big integer'],
    ['function', 'UnserializableValue', 'is a function, which cannot be written as JSON'],
    ['cycle', 'UnserializableValue', '.made.self is a reference'],
  ])(
    'that does "%s" ends with an error of that name, and the server goes on',
    async (how, error, message) => {
      const thread = await api.thread();
      const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'odd', ...input(how) });
      const path = `/threads/${thread}/runs/${run.run_id}`;
      const joined = await api.json('GET', `${path}/join`);
      expect(joined.__error__.error).toMatch(error);
      expect(joined.__error__.message).toContain(message);
      expect(await api.json('GET', path)).toMatchObject({ status: 'error', error: joined.__error__ });
      expect(await api.json('GET', `${path}/join`)).toEqual(joined);
      expect((await api.json('GET', `/threads/${thread}/state`)).values.text).toBe(how);
      expect(await api.json('GET', `/threads/${thread}`)).toMatchObject({
        status: 'error',
        error: joined.__error__,
      });
      const waited = await api.send('POST', '/runs/wait', { assistant_id: 'odd', ...input(how) });
      expect(waited.status).toBe(200);
      expect(((await waited.json()) as any).__error__.message).toContain(message);
      const events = await collectEvents(
        await api.send('POST', '/runs/stream', {
          assistant_id: 'odd',
          ...input(how),
          stream_mode: 'updates',
        }),
      );
      expect(events.at(-1)).toMatchObject({
        event: 'error',
        data: { message: expect.stringContaining(message) },
      });
      expect((await api.json('POST', '/runs/wait', { assistant_id: 'echo', ...input('up') })).text).toBe(
        'echo: up',
      );
    },
  );

  it('that leaves a rejected promise behind does not end the server', async () => {
    expect(
      (await api.json('POST', '/runs/wait', { assistant_id: 'odd', ...input('reject later') })).made,
    ).toBe('fine');
    await until(
      () => Promise.resolve(agent().stderr().includes('nobody catches this')),
      'the rejection is logged',
    );
    expect(await api.json('GET', '/ok')).toEqual({ ok: true });
  });

  it('that hangs is ended by its timeout, and by a cancel', async () => {
    const thread = await api.thread();
    const body = { assistant_id: 'odd', ...input('hang') };
    const timedOut = await api.json('POST', `/threads/${thread}/runs/wait`, { ...body, timeout: 0.1 });
    expect(timedOut.__error__.error).toBe('RunTimeout');
    const [late] = await api.json('GET', `/threads/${thread}/runs`);
    expect(late.status).toBe('timeout');
    const run = await api.json('POST', `/threads/${thread}/runs`, body);
    await api.untilStatus(thread, run.run_id, 'running');
    expect((await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?wait=true`)).status).toBe(
      204,
    );
    expect((await api.json('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe('interrupted');
  });

  it('can be deleted once it has ended', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input('60000'),
    });
    const path = `/threads/${thread}/runs/${run.run_id}`;
    expect((await api.send('DELETE', path)).status).toBe(409);
    await api.send('POST', `${path}/cancel?wait=1`);
    expect((await api.send('DELETE', path)).status).toBe(204);
    expect((await api.send('GET', path)).status).toBe(404);
  });

  it('tells its webhook how it ended, and tries again where that fails', async () => {
    const told: any[] = [];
    const hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        told.push(JSON.parse(body));
        response.writeHead(told.length === 1 ? 503 : 200).end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    const webhook = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/secret`;
    const thread = await api.thread();
    await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'echo', ...input('x'), webhook });
    await until(() => Promise.resolve(told.length === 2), 'the webhook was told twice');
    expect(told[1]).toEqual(told[0]);
    expect(told[1]).toMatchObject({ thread_id: thread, status: 'success', values: { text: 'echo: x' } });
    hook.close();
  });

  it('starts after the delay it was given', async () => {
    const thread = await api.thread();
    const began = Date.now();
    await api.json('POST', `/threads/${thread}/runs/wait`, {
      assistant_id: 'echo',
      ...input('x'),
      after_seconds: 0.3,
    });
    expect(Date.now() - began).toBeGreaterThanOrEqual(290);
  });
});

describe('the public client', () => {
  it('creates threads, runs, joins, streams and cancels', async () => {
    const client = new Client({ apiUrl: agent().url, apiKey: null });
    const thread = await client.threads.create({ metadata: { by: 'sdk' } });
    const run = await client.runs.create(thread.thread_id, 'echo', { input: { text: 'sdk' } });
    expect(await client.runs.join(thread.thread_id, run.run_id)).toMatchObject({ text: 'echo: sdk' });
    expect((await client.runs.get(thread.thread_id, run.run_id)).status).toBe('success');
    expect(await client.runs.list(thread.thread_id)).toHaveLength(1);
    expect((await client.threads.getState(thread.thread_id)).values).toMatchObject({ text: 'echo: sdk' });
    expect(await client.threads.getHistory(thread.thread_id)).toHaveLength(3);
    const waited = await client.runs.wait(thread.thread_id, 'echo', { input: { text: 'again' } });
    expect(waited).toMatchObject({ text: 'echo: again' });
    await expect(client.runs.wait(null, 'odd', { input: { text: 'throw' } })).rejects.toThrow('out of luck');

    let created: { run_id: string; thread_id?: string } | undefined;
    const seen: string[] = [];
    const stream = client.runs.stream(thread.thread_id, 'parent', {
      input: { text: 'x' },
      streamMode: ['updates', 'custom'],
      streamSubgraphs: true,
      feedbackKeys: ['thumbs'],
      onRunCreated: (params) => (created = params),
    });
    for await (const chunk of stream) seen.push(chunk.event.replace(/sub:.*/, 'sub'));
    expect(seen).toEqual([
      'metadata',
      'feedback',
      'updates',
      'updates',
      'custom|sub',
      'updates|sub',
      'updates',
    ]);
    expect(created?.thread_id).toBe(thread.thread_id);

    const long = await client.runs.create(thread.thread_id, 'steps', { input: { text: '60000' } });
    await client.runs.cancel(thread.thread_id, long.run_id, true);
    expect((await client.runs.get(thread.thread_id, long.run_id)).status).toBe('interrupted');
    expect(await client.threads.search({ metadata: { by: 'sdk' } })).toHaveLength(1);
    expect((await client.assistants.search()).map((each) => each.graph_id)).toContain('chat');
    await client.threads.updateState(thread.thread_id, { values: { text: 'set' }, asNode: 'second' });
    expect((await client.threads.getState<{ text: string }>(thread.thread_id)).values.text).toBe('set');
    await client.threads.delete(thread.thread_id);
    await expect(client.threads.get(thread.thread_id)).rejects.toThrow('404');
  });
});
