import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HttpProblem } from '../../src/http/problem.ts';
import { ThreadRemoval } from '../../src/agentServer/runs/threadRemoval.ts';
import {
  type AgentDatabase,
  openAgentDatabase,
  type RunRecord,
} from '../../src/agentServer/store/agentDatabase.ts';
import { CheckpointHistory } from '../../src/agentServer/store/checkpointHistory.ts';
import { CheckpointStore } from '../../src/agentServer/store/checkpointStore.ts';
import { RunEnds } from '../../src/agentServer/store/runEnds.ts';
import { type NewRun, RunStore } from '../../src/agentServer/store/runStore.ts';
import { ThreadStore } from '../../src/agentServer/store/threadStore.ts';
import { useTestDatabase } from '../testDatabase.ts';

/** Without agents: concurrent submissions and ends meet in the database. */
const server = useTestDatabase();
let database: AgentDatabase;
let threads: ThreadStore;
let runs: RunStore;
let ends: RunEnds;

beforeAll(async () => {
  database = await openAgentDatabase(server.connectionString, () => undefined);
  const options = { db: database.kysely, deploymentId: 'd', processId: 'p' };
  [threads, runs, ends] = [new ThreadStore(options), new RunStore(options), new RunEnds(options)];
});

afterAll(async () => {
  await database.close();
});

const newThread = async () => {
  const thread = { threadId: randomUUID(), metadata: {}, ifExists: 'raise' } as const;
  return (await threads.create(thread)).thread_id;
};
const newRun = (threadId: string, multitaskStrategy: string): NewRun => ({
  runId: randomUUID(),
  threadId,
  assistantId: randomUUID(),
  metadata: {},
  kwargs: { config: { configurable: { checkpoint_id: null } } },
  marks: MARKS,
  multitaskStrategy,
  stateless: false,
  createsThread: false,
  delaySeconds: 0,
});
const IDLE = { status: 'idle', keepsError: false, state: { values: '{}', interrupts: '{}' } } as const;
const MARKS = { origin: '{"graph_id":"g"}', config: '{}' };
const ended = { status: 'success', thread: IDLE };

describe('a thread', () => {
  it('is busy exactly while it has active runs, under concurrent starts and ends', async () => {
    const threadId = await newThread();
    for (let round = 0; round < 15; round++) {
      const { run } = await runs.accept(newRun(threadId, 'enqueue'));
      const [, ...accepted] = await Promise.all([
        ends.finish(run, ended),
        ...Array.from({ length: 4 }, () => runs.accept(newRun(threadId, 'enqueue'))),
      ]);
      expect((await threads.get(threadId)).status).toBe('busy');
      const finished = await Promise.all(
        accepted.map(({ run: each }, index) =>
          index % 2 === 0 ? ends.finish(each, ended) : ends.finishRolledBack(each, IDLE),
        ),
      );
      expect(finished).not.toContain(undefined);
      expect(await runs.activeRuns(threadId)).toEqual([]);
      expect((await threads.get(threadId)).status).toBe('idle');
    }
  });

  it('accepts one of many concurrent runs with reject', async () => {
    const threadId = await newThread();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        runs.accept(newRun(threadId, 'reject')).catch((error: unknown) => (error as HttpProblem).status),
      ),
    );
    expect(answers.filter((answer) => answer === 409)).toHaveLength(7);
    expect(await runs.activeRuns(threadId)).toHaveLength(1);
    await expect(runs.accept(newRun(randomUUID(), 'reject'))).rejects.toBeInstanceOf(HttpProblem);
  });

  it('is created by the first of many concurrent runs that ask for it, and the others wait', async () => {
    const threadId = randomUUID();
    const accepted = await Promise.all(
      Array.from({ length: 8 }, () =>
        runs.accept({ ...newRun(threadId, 'enqueue'), createsThread: true }, true),
      ),
    );
    expect(accepted.filter(({ begunRun }) => begunRun !== undefined)).toHaveLength(1);
    expect(await threads.get(threadId)).toMatchObject({ status: 'busy', metadata: { graph_id: 'g' } });
    for (const { run } of accepted) await ends.finish(run, ended);
    const again = await runs.accept({ ...newRun(threadId, 'reject'), createsThread: true }, true);
    expect(again.begunRun).toMatchObject({ run: { attempt: 1 } });
  });

  it('starts a run on acceptance if no other is active and it may start', async () => {
    const threadId = await newThread();
    const first = await runs.accept(newRun(threadId, 'enqueue'), true);
    expect(first.begunRun).toMatchObject({ isThreadEmpty: true, hasSavedWrites: false, run: { attempt: 1 } });
    expect(first.run.status).toBe('running');
    const second = await runs.accept(newRun(threadId, 'enqueue'), true);
    expect([second.begunRun, second.run.status, second.earlierRuns.length]).toEqual([
      undefined,
      'pending',
      1,
    ]);
    const delayed = { ...newRun(threadId, 'enqueue'), stateless: true, delaySeconds: 60 };
    expect((await runs.accept(delayed, true)).run).toMatchObject({ status: 'pending', attempt: 0 });
  });

  it('lets other runs pass one that is delayed, which takes its turn when it is due', async () => {
    const threadId = await newThread();
    const { run: delayed } = await runs.accept({ ...newRun(threadId, 'enqueue'), delaySeconds: 60 });
    const { run: next } = await runs.accept(newRun(threadId, 'enqueue'));
    expect(await runs.begin(next, MARKS)).toBeDefined();
    const due = await runs.endDelay(delayed);
    expect(BigInt(due!.sequence)).toBeGreaterThan(BigInt(next.sequence));
    expect(await runs.begin(due!, MARKS)).toBeUndefined();
    expect(await ends.finish({ ...next, attempt: 1 }, ended)).toBeDefined();
    expect(await runs.begin(due!, MARKS)).toBeDefined();
  });

  it('is not released by a run to be cancelled, nor by another process’s run', async () => {
    const threadId = await newThread();
    const { run } = await runs.accept(newRun(threadId, 'reject'));
    expect(await ends.finish({ ...run, attempt: 7 }, ended)).toBeUndefined();
    await runs.requestCancel([run.run_id], 'interrupt');
    expect(await ends.finish(run, ended)).toBeUndefined();
    expect((await threads.get(threadId)).status).toBe('busy');
    expect(await ends.finish(run, { ...ended, status: 'interrupted' })).toBeDefined();
    expect((await threads.get(threadId)).status).toBe('idle');
    expect(await ends.finish(run, ended)).toBeUndefined();
  });

  it('takes a state that was written by hand only if it has not changed since that was begun', async () => {
    const threadId = await newThread();
    const checkpoints = new CheckpointStore(database.pool, 'd');
    const history = new CheckpointHistory({ db: database.kysely, deploymentId: 'd' });
    const begin = async () => {
      const [thread, draft] = [await threads.get(threadId), checkpoints.openDraft(threadId)];
      return (text: string) =>
        checkpoints.storeDraft(draft, thread, {
          values: JSON.stringify({ text }),
          interrupts: '{}',
          status: 'idle',
        });
    };
    const [one, other] = [await begin(), await begin()];
    expect([await one('one'), await other('other')]).toEqual([true, false]);
    const beforeDrop = await begin();
    expect(await history.dropAllButNewest(threadId)).toBe(true);
    expect(await beforeDrop('dropped')).toBe(false);
    const beforeRun = await begin();
    await runs.accept(newRun(threadId, 'reject'));
    expect(await beforeRun('of a run')).toBe(false);
    expect(await threads.get(threadId)).toMatchObject({ status: 'busy', values: { text: 'one' } });
  });

  it('does not take its status from a run that did not begin, if it has changed meanwhile', async () => {
    const threadId = await newThread();
    const { run: first } = await runs.accept(newRun(threadId, 'enqueue'));
    const { run: second } = await runs.accept(newRun(threadId, 'enqueue'));
    const outcome = async () => {
      const { version } = await threads.get(threadId);
      return { status: 'interrupted', keepsError: true, state: undefined, version } as const;
    };
    const outdated = await outcome();
    await ends.finish(first, ended);
    expect(await ends.finishRolledBack(second, outdated)).toBeUndefined();
    expect(await ends.finish(second, { status: 'success', thread: outdated })).toBeUndefined();
    expect((await threads.get(threadId)).status).toBe('busy');
    expect(await ends.finishRolledBack(second, await outcome())).toBeDefined();
    expect((await threads.get(threadId)).status).toBe('interrupted');
  });

  it('is removed with the runs that come while its run is stopped', async () => {
    const threadId = await newThread();
    await runs.accept(newRun(threadId, 'reject'));
    const stopped: string[] = [];
    const service = {
      cancel: () => Promise.resolve(),
      waitForEnding: async (run: RunRecord) => {
        if (stopped.push(run.run_id) === 1) await runs.accept(newRun(threadId, 'enqueue'));
        await ends.finishRolledBack(run, IDLE);
      },
    };
    const parts = { threads, runs, service } as unknown as ConstructorParameters<typeof ThreadRemoval>[0];
    await new ThreadRemoval(parts).remove(threadId);
    expect(stopped).toHaveLength(2);
    await expect(threads.get(threadId)).rejects.toMatchObject({ status: 404 });
  });
});
