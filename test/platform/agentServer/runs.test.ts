/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-return, @typescript-eslint/no-unsafe-call, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Assistant } from '../../../src/contract/runApi/assistant.ts';
import { Run } from '../../../src/contract/runApi/run.ts';
import { Thread, ThreadState, ThreadStateMetadata } from '../../../src/contract/runApi/thread.ts';
import {
  type AgentUnderTest,
  apiOf,
  collectEvents,
  readEvents,
  startAgentUnderTest,
  until,
} from './agentUnderTest.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

let home: string;
let agent: AgentUnderTest;
let api: ReturnType<typeof apiOf>;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'slipway-agent-'));
  agent = await startAgentUnderTest({ env: { SLIPWAY_HOME: home, SLIPWAY_AGENT_REVISION_ID: 'revision-1' } });
  api = apiOf(agent.url);
});

afterAll(async () => {
  agent.child.kill('SIGTERM');
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  await rm(home, { recursive: true, force: true });
});

const input = (text: string) => ({ input: { text } });

describe('threads', () => {
  it('are idle and empty when they are new', async () => {
    const thread = Thread.parse(await api.json('POST', '/threads'));
    expect(thread).toMatchObject({ status: 'idle', metadata: {}, config: {}, values: null });
    expect(await api.json('GET', `/threads/${thread.thread_id}`)).toEqual(thread);
    expect(await api.json('GET', `/threads/${thread.thread_id}/runs`)).toEqual([]);
    const state = ThreadState.parse(await api.json('GET', `/threads/${thread.thread_id}/state`));
    expect(state).toMatchObject({ values: {}, next: [], tasks: [], checkpoint_id: null });
    expect(await api.json('POST', `/threads/${thread.thread_id}/history`, {})).toEqual([]);
  });

  it('keep the id they are given, once', async () => {
    const thread_id = crypto.randomUUID();
    await api.json('POST', '/threads', { thread_id, metadata: { a: 1 } });
    expect((await api.send('POST', '/threads', { thread_id })).status).toBe(409);
    const again = await api.json('POST', '/threads', { thread_id, if_exists: 'do_nothing' });
    expect(again.metadata).toEqual({ a: 1 });
  });

  it('can be patched, searched, copied and deleted', async () => {
    const mark = crypto.randomUUID();
    const { thread_id } = await api.json('POST', '/threads', { metadata: { mark } });
    expect((await api.json('PATCH', `/threads/${thread_id}`, { metadata: { more: 2 } })).metadata).toEqual({
      mark,
      more: 2,
    });
    await api.json('POST', `/threads/${thread_id}/runs/wait`, { assistant_id: 'echo', ...input('x') });
    const found = await api.json('POST', '/threads/search', {
      metadata: { mark },
      values: { text: 'echo: x' },
    });
    expect(found.map((thread: { thread_id: string }) => thread.thread_id)).toEqual([thread_id]);
    expect(await api.json('POST', '/threads/search', { metadata: { mark }, status: 'busy' })).toEqual([]);
    expect(await api.json('POST', '/threads/count', { metadata: { mark } })).toBe(1);
    const copy = await api.json('POST', `/threads/${thread_id}/copy`);
    expect((await api.json('GET', `/threads/${copy.thread_id}/state`)).values.text).toBe('echo: x');
    expect((await api.send('DELETE', `/threads/${thread_id}`)).status).toBe(204);
    expect((await api.send('GET', `/threads/${thread_id}`)).status).toBe(404);
    expect((await api.json('GET', `/threads/${copy.thread_id}/state`)).values.text).toBe('echo: x');
  });

  it('end the run that is active when they are deleted', async () => {
    const thread = await api.thread();
    const waiting = api.json('POST', `/threads/${thread}/runs/wait`, {
      assistant_id: 'steps',
      ...input('60000'),
    });
    await api.untilLogged(thread, 1);
    expect((await api.send('DELETE', `/threads/${thread}`)).status).toBe(204);
    await waiting;
    expect((await api.send('GET', `/threads/${thread}/runs`)).status).toBe(404);
  });

  it.each([
    ['GET', `/threads/${UNKNOWN}`],
    ['PATCH', `/threads/${UNKNOWN}`],
    ['DELETE', `/threads/${UNKNOWN}`],
    ['GET', `/threads/${UNKNOWN}/state`],
    ['POST', `/threads/${UNKNOWN}/state`],
    ['POST', `/threads/${UNKNOWN}/history`],
    ['GET', `/threads/${UNKNOWN}/runs`],
    ['POST', `/threads/${UNKNOWN}/runs`],
    ['POST', `/threads/${UNKNOWN}/runs/wait`],
    ['POST', `/threads/${UNKNOWN}/runs/stream`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}/join`],
    ['GET', `/threads/${UNKNOWN}/runs/${UNKNOWN}/stream`],
    ['POST', `/threads/${UNKNOWN}/runs/${UNKNOWN}/cancel`],
  ])('answer 404 with a detail where they are unknown: %s %s', async (method, path) => {
    const body = method === 'GET' || method === 'DELETE' ? undefined : { assistant_id: 'echo' };
    const response = await api.send(method, path, body);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ detail: expect.stringContaining('not found') });
  });

  it('answer 422 with the place where the path or the body is not right', async () => {
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
    expect((await api.send('POST', '/threads', undefined, { body: '{' })).status).toBe(422);
  });
});

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

  it('through wait takes tens of milliseconds', async () => {
    const thread = await api.thread();
    const times: number[] = [];
    for (let index = 0; index < 15; index++) {
      const began = performance.now();
      await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'echo', ...input('quick') });
      times.push(performance.now() - began);
    }
    // A server that polls for work takes hundreds (facts). Generous, for a machine that does other things too.
    expect(times.sort((left, right) => left - right)[7]).toBeLessThan(250);
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
      () => Promise.resolve(agent.stderr().includes('nobody catches this')),
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

  it.each(['', '?wait=false', '?wait=0', '?action=interrupt'])(
    'answers 202 at once with "%s"',
    async (query) => {
      const { thread, run, path } = await runningSteps();
      expect((await api.send('POST', `${path}/cancel${query}`)).status).toBe(202);
      await api.untilStatus(thread, run.run_id, 'interrupted');
    },
  );

  it.each(['?wait=true', '?wait=1', '?action=interrupt&wait=True'])(
    'answers 204 when it is over with "%s"',
    async (query) => {
      const { path } = await runningSteps();
      expect((await api.send('POST', `${path}/cancel${query}`)).status).toBe(204);
      expect((await api.json('GET', path)).status).toBe('interrupted');
    },
  );

  it('with interrupt keeps the last completed step, from which the thread can go on', async () => {
    const { thread, path, run } = await runningSteps();
    await api.send('POST', `${path}/cancel?wait=true`);
    const state = await api.json('GET', `/threads/${thread}/state`);
    expect(state).toMatchObject({ values: { log: ['first', 'second', 'first'] }, next: ['second'] });
    expect(state.metadata.run_id).toBe(run.run_id);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('interrupted');
    await api.json('POST', `/threads/${thread}/state`, { values: { text: '0' }, as_node: 'first' });
    const resumed = await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'steps' });
    expect(resumed.log).toEqual(['first', 'second', 'first', 'second']);
  });

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

  it('of a run that has ended is refused', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'echo', ...input('x') });
    await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    const response = await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel`);
    expect(response.status).toBe(409);
    expect(await response.json()).toEqual({ detail: expect.stringContaining('success') });
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
    expect((await api.send('POST', '/runs/cancel', { status: 'running' })).status).toBe(404);
    const both = await api.send('POST', '/runs/cancel', {
      status: 'all',
      thread_id: one.thread,
      run_ids: [UNKNOWN],
    });
    expect(both.status).toBe(422);
  });
});

describe('a second run on a busy thread', () => {
  const busy = async (ms = '60000') => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, { assistant_id: 'steps', ...input(ms) });
    await api.untilLogged(thread, 1);
    return { thread, run };
  };
  const second = (thread: string, strategy?: string) =>
    api.send('POST', `/threads/${thread}/runs`, {
      assistant_id: 'echo',
      ...input('second'),
      ...(strategy !== undefined && { multitask_strategy: strategy }),
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
    const { thread, run } = await busy('300');
    const queued = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    const third = (await (await second(thread, 'enqueue')).json()) as { run_id: string };
    expect((await api.json('GET', `/threads/${thread}/runs/${queued.run_id}`)).status).toBe('pending');
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

  it('interrupts the first, whose work stays', async () => {
    const { thread, run } = await busy();
    const next = (await (await second(thread, 'interrupt')).json()) as { run_id: string };
    const answer = await api.json('GET', `/threads/${thread}/runs/${next.run_id}/join`);
    expect(answer).toEqual({ text: 'echo: second', log: ['first', 'hello from graph.json'] });
    expect((await api.json('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe('interrupted');
  });

  it('rolls the first back, as if it had never been', async () => {
    const { thread, run } = await busy();
    const next = (await (await second(thread, 'rollback')).json()) as { run_id: string };
    const answer = await api.json('GET', `/threads/${thread}/runs/${next.run_id}/join`);
    expect(answer).toEqual({ text: 'echo: second', log: ['hello from graph.json'] });
    expect((await api.send('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe(404);
    expect((await api.json('GET', `/threads/${thread}`)).status).toBe('idle');
  });
});

describe('interrupts', () => {
  it('of a graph wait for a command that resumes it', async () => {
    const thread = await api.thread();
    const asked = await api.json('POST', `/threads/${thread}/runs/wait`, {
      assistant_id: 'ask',
      ...input('x'),
    });
    expect(asked).toMatchObject({ log: ['before'], __interrupt__: [{ value: 'what now?' }] });
    const waiting = await api.json('GET', `/threads/${thread}`);
    expect(waiting.status).toBe('interrupted');
    expect(Object.values(waiting.interrupts).flat()).toMatchObject([{ value: 'what now?' }]);
    const state = await api.json('GET', `/threads/${thread}/state`);
    expect(state).toMatchObject({
      next: ['question'],
      tasks: [{ name: 'question', interrupts: [{ value: 'what now?' }] }],
    });
    const body = { assistant_id: 'ask', command: { resume: 'go on' } };
    expect((await api.json('POST', `/threads/${thread}/runs/wait`, body)).log).toEqual([
      'before',
      'answer: go on',
    ]);
    expect(await api.json('GET', `/threads/${thread}`)).toMatchObject({ status: 'idle', interrupts: {} });
  });

  it('wait again after the run that resumed them was rolled back', async () => {
    const thread = await api.thread();
    await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'ask', ...input('x') });
    const before = await api.json('GET', `/threads/${thread}/state`);
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'ask',
      command: { resume: 'no', update: { text: 'changed' } },
      interrupt_after: ['question'],
      after_seconds: 0.05,
    });
    const follower = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input('60000'),
      multitask_strategy: 'enqueue',
    });
    await api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    await api.untilStatus(thread, follower.run_id, 'running');
    await api.send('POST', `/threads/${thread}/runs/${follower.run_id}/cancel?action=rollback&wait=true`);
    const after = await api.json('GET', `/threads/${thread}/state`);
    expect(after.values.log).toEqual(['before', 'answer: no']);
    expect(after.checkpoint_id).not.toBe(before.checkpoint_id);
  });

  it('before and after nodes stop the run there', async () => {
    const thread = await api.thread();
    const body = { assistant_id: 'steps', ...input('0') };
    await api.json('POST', `/threads/${thread}/runs/wait`, { ...body, interrupt_before: ['second'] });
    expect(await api.json('GET', `/threads/${thread}/state`)).toMatchObject({
      next: ['second'],
      values: { log: ['first'] },
    });
    const done = await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'steps' });
    expect(done.log).toEqual(['first', 'second']);
    const other = await api.thread();
    await api.json('POST', `/threads/${other}/runs/wait`, { ...body, interrupt_after: '*' });
    expect((await api.json('GET', `/threads/${other}`)).status).toBe('interrupted');
  });
});

describe('state written by hand', () => {
  it('is read back, and forks from an earlier checkpoint without mixing the branches', async () => {
    const thread = await api.thread();
    await api.json('POST', `/threads/${thread}/runs/wait`, { assistant_id: 'echo', ...input('one') });
    const history = await api.json('POST', `/threads/${thread}/history`, {});
    const fork = await api.json('POST', `/threads/${thread}/state`, {
      values: { text: 'by hand' },
      as_node: 'say',
      checkpoint_id: history[1].checkpoint_id,
    });
    expect(fork.checkpoint.checkpoint_id).toBe(fork.checkpoint_id);
    const state = await api.json('GET', `/threads/${thread}/state`);
    expect(state).toMatchObject({ values: { text: 'by hand', log: [] }, metadata: { source: 'update' } });
    const old = await api.json('GET', `/threads/${thread}/state/${history[0].checkpoint_id}`);
    expect(old.values).toEqual({ text: 'echo: one', log: ['hello from graph.json'] });
    expect((await api.json('GET', `/threads/${thread}`)).values.text).toBe('by hand');
    const refused = await api.send('POST', `/threads/${thread}/state`, {
      values: { text: 'x' },
      as_node: 'nobody',
    });
    expect(refused.status).toBe(422);
  });
});

describe('the public client', () => {
  it('creates threads, runs, joins, streams and cancels', async () => {
    const client = new Client({ apiUrl: agent.url, apiKey: null });
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

describe('streams', () => {
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
    expect(tokens[0]?.[1]).toMatchObject({ graph_node: 'model' });
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
    expect(links['good']).toMatch(`${agent.url}/api/v1/feedback/tokens/`);
    const recorded = await fetch(links['good']!, { method: 'POST', body: JSON.stringify({ score: 1 }) });
    expect(recorded.status).toBe(200);
    expect(await api.json('GET', `/api/v1/runs/${run_id}/feedback`)).toMatchObject([
      { key: 'good', score: 1, run_id },
    ]);
  });

  it('joined late deliver only what comes then, to each reader', async () => {
    const thread = await api.thread();
    const run = await api.json('POST', `/threads/${thread}/runs`, {
      assistant_id: 'steps',
      ...input('400'),
      stream_mode: ['updates', 'values'],
    });
    await api.untilLogged(thread, 1);
    const path = `/threads/${thread}/runs/${run.run_id}/stream`;
    const [all, some] = await Promise.all([
      api.send('GET', path).then(collectEvents),
      api.send('GET', `${path}?stream_mode=values`).then(collectEvents),
    ]);
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
});

describe('a client that goes away', () => {
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

describe('the server', () => {
  it('tells what it serves', async () => {
    expect(await api.json('GET', '/info')).toMatchObject({ revision_id: 'revision-1', serving: true });
    const response = await api.send('GET', '/nothing/here');
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ detail: 'Not Found' });
  });

  it('reads events one by one as they are made', async () => {
    const response = await api.send('POST', '/runs/stream', {
      assistant_id: 'steps',
      ...input('300'),
      stream_mode: 'updates',
    });
    const times: number[] = [];
    for await (const event of readEvents(response)) if (event.event === 'updates') times.push(Date.now());
    expect(times[1]! - times[0]!).toBeGreaterThan(200);
  });
});
