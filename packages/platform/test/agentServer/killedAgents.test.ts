/* eslint-disable @typescript-eslint/no-unsafe-return -- answers are judged by what the tests expect of them */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { type apiOf, until } from './agentUnderTest.ts';
import { PATIENCE_MS, timesByRun, DURABLE_AGENT, useAgentProcesses } from './durableAgents.ts';

const agents = useAgentProcesses(DURABLE_AGENT);

/** Runs that wait when their process is killed, and runs between their steps. */
const STANDING = 40;
const WALKING = 30;

interface Created {
  readonly run_id: string;
  readonly thread_id: string;
}

/** Starts runs, every fifth of them without a thread. */
async function startRuns(
  count: number,
  api: ReturnType<typeof apiOf>,
  assistant: string,
  inputOf: (name: string) => unknown,
) {
  const names = Array.from({ length: count }, (_, index) => `run-${index}`);
  return Promise.all(
    names.map(async (name, index): Promise<Created & { name: string }> => {
      const path = index % 5 === 0 ? '/runs' : `/threads/${await api.thread()}/runs`;
      const run = (await api.json('POST', path, {
        assistant_id: assistant,
        input: inputOf(name),
      })) as Created;
      return { ...run, name };
    }),
  );
}

const pathOf = (run: Created) => `/threads/${run.thread_id}/runs/${run.run_id}`;

describe.concurrent('many runs of a killed process', { timeout: 240_000 }, () => {
  it('continue from their last checkpoint after a restart: none is lost, no finished node runs twice', async () => {
    const scene = agents.scene();
    const first = await agents.start('restarted');
    const runs = await startRuns(STANDING, first.api, 'work', scene.input);
    await scene.untilNoted('slow-begun', STANDING);
    // The writes of "first" and "quick" are stored: they have finished.
    await until(
      async () => {
        const [row] = await agents.query(
          `select count(*)::int as written from slipway_checkpoints.checkpoint_writes
         where channel = 'log' and starts_with(thread_id, 'restarted/')`,
        );
        return row.written === 2 * STANDING;
      },
      'two finished nodes of each run are stored',
      PATIENCE_MS,
    );
    await first.kill();
    const second = await agents.start('restarted');
    await scene.untilNoted('slow-begun', 2 * STANDING);
    await scene.open();
    const outputs = await Promise.all(runs.map((run) => second.api.json('GET', `${pathOf(run)}/join`)));
    for (const output of outputs) expect(output.log).toEqual(['first', 'quick', 'slow', 'last']);
    for (const run of runs) {
      expect(await second.api.json('GET', pathOf(run))).toMatchObject({ status: 'success', attempt: 2 });
    }
    // The interrupted node ran twice, all else once.
    const once = { first: 1, quick: 1, 'slow-begun': 2, 'slow-ended': 1, last: 1 };
    expect(timesByRun(scene.lines())).toEqual(Object.fromEntries(runs.map((run) => [run.name, once])));
    const left = await agents.query(
      `select distinct thread_id from slipway_checkpoints.checkpoints where starts_with(thread_id, 'restarted/')`,
    );
    expect(left).toHaveLength((STANDING * 4) / 5);
  });

  it('are taken over by another process from any point of their steps', async () => {
    const scene = agents.scene();
    const [one, two] = await Promise.all([agents.start('beside'), agents.start('beside')]);
    const runs = await startRuns(WALKING, one.api, 'chain', scene.input);
    await scene.untilNoted('3', WALKING / 3);
    void one.kill();
    const outputs = await Promise.all(runs.map((run) => two.api.json('GET', `${pathOf(run)}/join`)));
    for (const output of outputs) expect(output.log).toEqual(['1', '2', '3', '4', '5']);
    for (const run of runs) {
      const steps = (pid: number) =>
        scene
          .lines()
          .flatMap((line) => (line.name === run.name && line.pid === pid ? [Number(line.what)] : []));
      const [before, after] = [steps(one.pid), steps(two.pid)];
      const reached = before.length;
      expect(before).toEqual([1, 2, 3, 4, 5].slice(0, reached));
      // The interrupted step may run again, but no earlier step.
      expect([reached, reached + 1]).toContain(after[0] ?? 6);
      expect(after).toEqual([1, 2, 3, 4, 5].slice(5 - after.length));
    }
    expect(new Set(scene.lines().map((line) => line.pid))).toEqual(new Set([one.pid, two.pid]));
    const active = await agents.query(
      `select run_id from slipway_agent.runs where deployment_id = 'beside' and status <> 'success'`,
    );
    expect(active).toEqual([]);
  });
});

describe.concurrent('a run of a killed process', { timeout: 240_000 }, () => {
  it('that is killed repeatedly ends with an error', async () => {
    const scene = agents.scene();
    const env = { SLIPWAY_AGENT_MAX_ATTEMPTS: '2' };
    const first = await agents.start('deadly', env);
    const thread = await first.api.thread();
    const run = await first.api.create(thread, { assistant_id: 'deadly', input: scene.input('x') });
    await first.exited;
    // The run may kill a process before it reports that it is ready.
    await agents.start('deadly', env).then(
      (second) => second.exited,
      () => undefined,
    );
    const third = await agents.start('deadly', env);
    const joined = await third.api.join(thread, run.run_id);
    expect(joined.__error__).toMatchObject({
      error: 'AttemptsExhausted',
      message: expect.stringContaining('begun 2 times'),
    });
    expect(scene.count('die')).toBe(2);
    expect(await third.api.run(thread, run.run_id)).toMatchObject({
      status: 'error',
      error: joined.__error__,
    });
    expect((await third.api.threadOf(thread)).status).toBe('error');
  });

  it.each([
    ['interrupts', 'questions', 'answer-yes'],
    ['questions of a subgraph', 'nested', 'thinking'],
  ])('between two %s asks the second one, without reusing the first answer', async (_, graph, between) => {
    const scene = agents.scene();
    const first = await agents.start(graph);
    const thread = await first.api.thread();
    const question = { assistant_id: graph, input: scene.input('x') };
    const answer = (resume: string) => ({ assistant_id: graph, command: { resume } });
    await first.api.wait(thread, question);
    const run = await first.api.create(thread, answer('yes'));
    await scene.untilNoted(between, 1);
    await first.kill();
    const { api } = await agents.start(graph);
    await scene.untilNoted(between, 2);
    await scene.open();
    const asked = await api.join(thread, run.run_id);
    expect(asked.__interrupt__).toMatchObject([{ value: 'two?' }]);
    const answered = await api.wait(thread, answer('no'));
    expect(answered.log).toEqual(['yes', 'no']);
    await api.wait(thread, question);
    const back = await api.wait(thread, answer('maybe'));
    expect(back.__interrupt__).toMatchObject([{ value: 'two?' }]);
  });

  it('that waits for a person still waits', async () => {
    const scene = agents.scene();
    const agent = await agents.start('waiting');
    const thread = await agent.api.thread();
    const body = { assistant_id: 'work', input: scene.input('x') };
    const path = `/threads/${thread}/runs`;
    for (const gates of [{ interrupt_before: ['slow'] }, { interrupt_after: ['first'] }]) {
      const waited = await agent.api.send('POST', `${path}/wait`, { ...body, ...gates });
      const place = waited.headers.get('content-location') ?? '';
      await waited.text();
      const before = await agent.api.state(thread);
      expect(before.next).toEqual(['quick', 'slow']);
      // As if the process had died after its last checkpoint, but before it recorded the run's end.
      await agents.query(
        `update slipway_agent.runs set status = 'running', owner = 'a dead process' where run_id = $1`,
        [place.split('/').at(-1)],
      );
      const after = await until(
        async () => {
          const run = await agent.api.json('GET', place);
          return run.status === 'success' && run;
        },
        'the run has ended',
        PATIENCE_MS,
      );
      expect(after.attempt).toBe(2);
      expect(await agent.api.state(thread)).toEqual(before);
      expect(scene.count('slow-begun')).toBe(0);
    }
  });

  it('ends with an error if the revision that takes it over does not have its graph', async () => {
    const first = await agents.start('regraphed');
    const { thread, run } = await agents.runningIn(first);
    await first.kill();
    const dir = join(agents.folder(), 'other');
    await mkdir(dir);
    await writeFile(join(dir, 'graph.json'), JSON.stringify({ graphs: { other: './other.mjs:graph' } }));
    await writeFile(
      join(dir, 'other.mjs'),
      'export const graph = { stream: async () => [], streamEvents: () => [], getState: async () => ({}) };',
    );
    const second = await agents.start('regraphed', {}, dir);
    const joined = await second.api.json('GET', `${run}/join`);
    expect(joined.__error__).toMatchObject({
      error: 'GraphNotServed',
      message: expect.stringContaining('no graph named work'),
    });
    expect((await second.api.threadOf(thread)).status).toBe('error');
  });
});
