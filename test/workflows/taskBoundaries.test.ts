import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { type Client, Connection } from '@temporalio/client';
import type { ActivateInput, ConcludeActivationInput } from '@temporalio/workflow';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';

import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../../src/messages/earlyQuery.ts';
import { createClient } from '../../src/temporal/client/connection.ts';
import { interceptors } from '../../src/workflows/taskBoundaries.ts';
import { openHarness, replayFailures } from './harness.ts';
import { seen } from './seen.ts';
import { IDENTITY, TargetUnderTest } from './targetUnderTest.ts';
import { World } from './world.ts';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const killed = new Set<ChildProcess>();
let client: Client;

beforeAll(async () => {
  client = createClient(await Connection.connect({ address: inject('temporalAddress') }), 'default', {
    identity: IDENTITY,
  });
});

afterAll(async () => {
  for (const child of killed) child.kill('SIGKILL');
  await client.connection.close();
});

async function workerToKill(taskQueue: string, bundle: string): Promise<ChildProcess> {
  const child = fork(here('workerToKill.mjs'), [inject('temporalAddress'), taskQueue, bundle]);
  killed.add(child);
  await once(child, 'message');
  return child;
}

it('a target whose worker is killed accepts a release after a query that came before its newest event', async () => {
  const taskQueue = `queue-${randomUUID()}`;
  const workflowBundle = inject('workflowBundle');
  const world = new World(`world-${randomUUID()}`);
  const common = { address: inject('temporalAddress'), taskQueue, nameWorld: () => world.id };
  const activities = await openHarness({ ...common, workflowBundle: null });
  activities.newTargetIn(world, {});
  const first = await workerToKill(taskQueue, workflowBundle);
  const target = new TargetUnderTest(client, taskQueue, world, {});
  const approval = { required: 1, withinMs: 60_000 };
  const { releaseId } = await target.submit('a', { approval });
  await seen(target.handle, async () => {
    const { memo } = await target.handle.describe();
    return memo?.['running'] === releaseId ? true : undefined;
  });
  const second = await openHarness({ ...common, workflowBundle });
  try {
    const inSecond = second.newTargetIn(world, {});
    await inSecond.waitsFor(releaseId, 'approval');
    // Temporal keeps the next query for a worker that polled within the last 10 s, as this one does after its answer.
    await target.view();
    first.kill('SIGKILL');
    await once(first, 'exit');
    // The query waits for the killed worker, and then so does the task with the release's end. The second worker gets
    // the query first, with the end already in the history, and then the task with the end and the update after it.
    const view = target.view();
    await target.loseWorker(releaseId);
    await target.say(releaseId, 'abort', { who: 'ada' });
    const next = await target.submit('b');
    expect((await view).state.history).toMatchObject([{ releaseId }]);
    expect(await target.result(next.releaseId)).toMatchObject({ outcome: 'released' });
    const histories = await target.histories();
    const isTimeout = histories[0]?.history.events?.map(
      (event) => event.workflowTaskTimedOutEventAttributes != null,
    );
    expect(isTimeout).toContain(true);
    expect(await replayFailures(workflowBundle, histories)).toEqual([]);
  } finally {
    await target.terminate();
    await second.close();
    await activities.close();
  }
});

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];
type Command = ConcludeActivationInput['commands'][number];

/** A workflow reduced to its task boundaries. */
class Boundaries {
  readonly #internals = interceptors().internals?.[0];

  /** Handles jobs at a given time and history length; returns the commands of the task. */
  handle(clock: number, historyLength: number, jobs: Job[], commands: Command[] = []): readonly Command[] {
    const timestamp = { seconds: clock as never, nanos: 0 };
    this.#internals?.activate?.(
      { activation: { timestamp, historyLength, isReplaying: false, jobs }, batchIndex: 0 },
      () => undefined,
    );
    return this.#internals?.concludeActivation?.({ commands }, (input) => input).commands ?? [];
  }
}

const RESOLVED: Job = { resolveActivity: { seq: 1 } };
const TRIED: Job = { resolveActivity: { seq: 1, isLocal: true } };
const UPDATE: Job = { doUpdate: { id: 'update' } };
const QUERY: Job = { queryWorkflow: { queryId: 'legacy_query' } };

describe('a query', () => {
  it('is answered if the newest events came in a workflow task', () => {
    const workflow = new Boundaries();
    workflow.handle(1, 3, [RESOLVED]);
    workflow.handle(2, 9, [RESOLVED]);
    expect(workflow.handle(2, 9, [QUERY])).toEqual([]);
  });

  it('is rejected if they did not, and the cached workflow is dropped', () => {
    const workflow = new Boundaries();
    workflow.handle(1, 3, [RESOLVED]);
    workflow.handle(1, 8, [RESOLVED]);
    expect(() => workflow.handle(1, 8, [QUERY])).toThrow(QUERY_TOO_EARLY);
    expect(() => workflow.handle(2, 11, [UPDATE])).toThrow(QUERY_TOO_EARLY);
  });

  it('starts no local activity on events whose task is still to come', () => {
    const workflow = new Boundaries();
    const begun: Command[] = [{ scheduleLocalActivity: { seq: 1 } }, { startTimer: { seq: 2 } }];
    expect(workflow.handle(1, 3, [RESOLVED], begun)).toEqual(begun);
    expect(workflow.handle(1, 8, [RESOLVED], begun)).toEqual(begun.slice(1));
  });

  // A query brought the start of a task, which core lost. It timed out; the next one also brings the end of a child.
  it('cannot hide that its task was lost: as many events came as the task would have left', () => {
    const workflow = new Boundaries();
    workflow.handle(1, 25, [{ resolveSignalExternalWorkflow: { seq: 1 } }]);
    workflow.handle(1, 25, [QUERY]);
    const ended: Job[] = [{ resolveChildWorkflowExecution: { seq: 1 } }];
    expect(() => workflow.handle(2, 29, ended)).toThrow(QUERY_TOO_EARLY);
  });

  it('is answered by a closed workflow, which gets no more tasks', () => {
    const workflow = new Boundaries();
    workflow.handle(1, 3, [RESOLVED]);
    workflow.handle(1, 8, [RESOLVED]);
    const headers = { [QUERY_CLOSED_HEADER]: {} };
    expect(workflow.handle(1, 8, [{ queryWorkflow: { queryId: 'legacy_query', headers } }])).toEqual([]);
  });
});

describe('a task that brings an event', () => {
  const MEMO = { modifyWorkflowProperties: expect.anything() as object };
  const begun: Command = { startTimer: { seq: 4 } };

  it.each<[string, Job[], Command[], boolean]>([
    ['commands nothing', [RESOLVED], [], true],
    ['commands only what it cancels again', [RESOLVED], [begun, { cancelTimer: { seq: 4 } }], true],
    ['begins something', [RESOLVED], [begun], false],
    ['cancels what began before', [RESOLVED], [{ cancelTimer: { seq: 3 } }], false],
    ['refuses an update besides', [RESOLVED, UPDATE], [{ updateResponse: { rejected: {} } }], true],
    ['accepts an update besides', [RESOLVED, UPDATE], [{ updateResponse: { accepted: {} } }], false],
    ['only tries something locally', [RESOLVED], [{ scheduleLocalActivity: { seq: 2 } }], true],
  ])('leaves one if it %s', (_, jobs, commands, adds) => {
    const left = new Boundaries().handle(1, 3, jobs, commands);
    expect(left).toEqual(adds ? [...commands, MEMO] : commands);
  });

  it('is not one that only ends a local activity, which leaves its own', () => {
    expect(new Boundaries().handle(1, 3, [TRIED])).toEqual([]);
  });

  it('is rejected, to be rebuilt, if it also brings the end of a local activity', () => {
    expect(() => new Boundaries().handle(1, 3, [UPDATE, TRIED])).toThrow(QUERY_TOO_EARLY);
  });

  it('leaves none after the last command, with which it may have canceled activities that end at once', () => {
    const workflow = new Boundaries();
    const last: Command[] = [{ requestCancelActivity: { seq: 1 } }, { continueAsNewWorkflowExecution: {} }];
    expect(workflow.handle(1, 3, [RESOLVED], last)).toEqual(last);
    expect(workflow.handle(1, 3, [RESOLVED])).toEqual([]);
  });

  it('is not one that only rejects an update, which leaves no event', () => {
    const refused: Command[] = [{ updateResponse: { rejected: {} } }];
    expect(new Boundaries().handle(1, 3, [UPDATE], refused)).toEqual(refused);
  });
});
