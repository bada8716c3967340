import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HttpProblem } from '../../src/http/problem.ts';
import { ThreadRemoval } from '../../src/agentServer/runs/threadRemoval.ts';
import {
  type AgentDatabase,
  openAgentDatabase,
  type RunRecord,
} from '../../src/agentServer/store/agentDatabase.ts';
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
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
    const { run } = await runs.accept(newRun(threadId, 'reject'));
    expect(await ends.finish({ ...run, attempt: 7 }, ended)).toBeUndefined();
    await runs.requestCancel([run.run_id], 'interrupt');
    expect(await ends.finish(run, ended)).toBeUndefined();
    expect((await threads.get(threadId)).status).toBe('busy');
    expect(await ends.finish(run, { ...ended, status: 'interrupted' })).toBeDefined();
    expect((await threads.get(threadId)).status).toBe('idle');
    expect(await ends.finish(run, ended)).toBeUndefined();
  });

  it('keeps the newest of several states that are stored by hand at the same time', async () => {
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
    const state = (text: string) => ({ values: JSON.stringify({ text }), interrupts: '{}', status: 'idle' });
    const store = (read: () => Promise<ReturnType<typeof state>>) =>
      threads.setState(threadId, read, { keepsError: false });
    const newest = ['older', 'newest'];
    await store(async () => {
      const [text = 'unread'] = newest.splice(0, 1);
      if (text === 'older') await store(() => Promise.resolve(state('newer')));
      return state(text);
    });
    const isNewest = { status: 'idle', values: { text: 'newest' } };
    expect(await threads.get(threadId)).toMatchObject(isNewest);
    await runs.accept(newRun(threadId, 'reject'));
    await store(() => Promise.resolve(state('of a run')));
    expect(await threads.get(threadId)).toMatchObject({ ...isNewest, status: 'busy' });
  });

  it('is removed with the runs that come while its run is stopped', async () => {
    const { thread_id: threadId } = (await threads.create({ ifExists: 'raise' })).thread;
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
