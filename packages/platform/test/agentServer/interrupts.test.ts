/* eslint-disable @typescript-eslint/no-explicit-any, @typescript-eslint/no-unsafe-argument -- answers are judged by what the tests expect of them */
import { describe, expect, it } from 'vitest';

import { runOf, steps, useAgent } from './agentUnderTest.ts';

const { api } = useAgent();

describe('interrupts', () => {
  it('of several questions are pending until each is answered', async () => {
    const thread = await api.thread();
    const send = async (body: object) => {
      const output = await api.wait(thread, { assistant_id: 'askMuch', ...body });
      const asked = (output.__interrupt__ ?? []) as { id: string; value: string }[];
      const { status, interrupts } = await api.threadOf(thread);
      expect(Object.values(interrupts).flat()).toEqual(asked);
      expect((await api.state(thread)).interrupts).toEqual(asked);
      const [{ run_id: runId }] = await api.runs(thread);
      expect((await api.join(thread, runId)).__interrupt__ ?? []).toEqual(asked);
      const ids = Object.fromEntries(asked.map(({ id, value }) => [value, id]));
      return { ids, log: output.log, status, asked: Object.keys(ids) };
    };
    const answer = (id = '', text: string) => send({ command: { resume: { [id]: text } } });
    const { ids, ...first } = await send({ input: { text: 'x' } });
    expect(first).toMatchObject({ status: 'interrupted', asked: ['a?', 'c?'] });
    const second = await answer(ids['c?'], 'C');
    expect(second).toMatchObject({ status: 'interrupted', asked: ['a?'] });
    const third = await answer(ids['a?'], 'A');
    expect(third).toMatchObject({ status: 'interrupted', asked: ['b?'] });
    const last = await answer(third.ids['b?'], 'B');
    expect(last).toMatchObject({ status: 'idle', asked: [], log: ['both: A,B', 'other: C'] });
  });

  it('of a graph wait for a command that resumes it', async () => {
    const thread = await api.thread();
    const asked = await api.wait(thread, runOf('ask', 'x'));
    expect(asked).toMatchObject({ log: ['before'], __interrupt__: [{ value: 'what now?' }] });
    const waiting = await api.threadOf(thread);
    expect(waiting.status).toBe('interrupted');
    expect(Object.values(waiting.interrupts).flat()).toMatchObject([{ value: 'what now?' }]);
    const state = await api.state(thread);
    expect(state).toMatchObject({
      next: ['question'],
      tasks: [{ name: 'question', interrupts: [{ value: 'what now?' }] }],
    });
    const body = { assistant_id: 'ask', command: { resume: 'go on' } };
    expect((await api.wait(thread, body)).log).toEqual(['before', 'answer: go on']);
    expect(await api.threadOf(thread)).toMatchObject({ status: 'idle', interrupts: {} });
  });

  it.each(['askMuch', 'askInside'])(
    'of a second question (%s) wait for its own answer, also in a run that brings none',
    async (assistant_id) => {
      const thread = await api.thread();
      const send = (body: object) => api.wait(thread, { assistant_id, ...body });
      const asked = (output: any) => (output.__interrupt__ as { value: string }[]).map(({ value }) => value);
      await send({ input: { text: 'x' } });
      const second = await send({ command: { resume: 'A' } });
      expect(asked(second)).toEqual(['b?']);
      expect(asked(await send({}))).toEqual(['b?']);
      const { log } = await send({ command: { resume: 'B' } });
      expect(log).toContain('both: A,B');
    },
  );

  it('of a graph that a node calls on another thread continue there', async () => {
    const [thread, other] = [await api.thread(), await api.thread()];
    const asked = await api.wait(thread, runOf('askElsewhere', other));
    expect(asked.__interrupt__).toMatchObject([{ value: 'what now?' }]);
    const { log } = await api.wait(thread, { assistant_id: 'askElsewhere', command: { resume: 'go on' } });
    expect(log).toEqual(['before', 'answer: go on']);
  });

  it.each([false, 0, ''])('take the answer %j', async (resume) => {
    const thread = await api.thread();
    await api.wait(thread, runOf('ask', 'x'));
    const { log } = await api.wait(thread, { assistant_id: 'ask', command: { resume } });
    expect(log).toEqual(['before', `answer: ${String(resume)}`]);
  });

  it('wait again after the run that resumed them was rolled back', async () => {
    const thread = await api.thread();
    const path = `/threads/${thread}`;
    await api.json('POST', `${path}/runs/wait`, runOf('askAndWait', '60000'));
    const before = await api.json('GET', `${path}/state`);
    const waiting = await api.json('GET', path);
    const run = await api.json('POST', `${path}/runs`, {
      assistant_id: 'askAndWait',
      command: { resume: 'no' },
    });
    await api.untilLogged(thread, 1);
    await api.send('POST', `${path}/runs/${run.run_id}/cancel?action=rollback&wait=true`);
    expect(await api.json('GET', `${path}/state`)).toEqual(before);
    expect(await api.json('GET', path)).toEqual({ ...waiting, updated_at: expect.any(String) });
    const command = { resume: 'yes', update: { text: '0' } };
    const answer = await api.json('POST', `${path}/runs/wait`, { assistant_id: 'askAndWait', command });
    expect(answer).toEqual({ text: '0', log: ['answer: yes', 'second'] });
  });

  it('before and after nodes stop the run there', async () => {
    const thread = await api.thread();
    const body = steps();
    await api.wait(thread, { ...body, interrupt_before: ['second'] });
    expect(await api.state(thread)).toMatchObject({ next: ['second'], values: { log: ['first'] } });
    const done = await api.wait(thread, { assistant_id: 'steps' });
    expect(done.log).toEqual(['first', 'second']);
    const other = await api.thread();
    await api.wait(other, { ...body, interrupt_after: '*' });
    expect((await api.threadOf(other)).status).toBe('interrupted');
  });
});
