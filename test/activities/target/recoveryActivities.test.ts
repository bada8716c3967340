import { status } from '@grpc/grpc-js';
import { ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeEach, expect, it, vi } from 'vitest';

import { recoveryActivities } from '../../../src/activities/target/recoveryActivities.ts';
import type { PollUntil } from '../../../src/activities/polling.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';

const ATTEMPT_MS = 10_000;
const TARGET = 'target:http://plane.test:agent';

const temporal = vi.hoisted((): { client: unknown } => ({ client: undefined }));
vi.mock('../../../src/activities/askTemporal.ts', async (original) => ({
  ...(await original<object>()),
  askTemporal: (ask: (client: unknown) => unknown) => ask(temporal.client),
}));

function unanswered(code: status): ServiceError {
  const cause = Object.assign(new Error(`${code}`), { code, details: '', metadata: {} });
  return new ServiceError('the query failed', { cause });
}

const RUN_0 = { runId: 'run-0', startTime: new Date(0) };
const RUN_1 = { runId: 'run-1', startTime: new Date(1) };
/** The run that recovers. */
const RUN_2 = { runId: 'run-2', startTime: new Date(2) };

let waited: number[];
/** The answer of each earlier run. Absent: its state, in which the revision that serves is named after the run. */
let answer: Error | undefined;
/** The successive answers of Temporal's list of the target's runs. The last one repeats. */
let lists: { readonly runId: string; readonly startTime: Date }[][];
beforeEach(() => {
  waited = [];
  answer = unanswered(status.FAILED_PRECONDITION);
  // It has one earlier run, which once worked but no longer answers, and no release.
  lists = [[RUN_2, RUN_1]];
  temporal.client = {
    withDeadline: (deadline: number, call: () => unknown) => {
      waited.push(deadline - Date.now());
      return call();
    },
    workflow: {
      list: ({ query }: { readonly query: string }) =>
        query.includes('STARTS_WITH') ? [] : lists.length > 1 ? lists.shift() : lists[0],
      getHandle: (_: string, runId: string) => ({
        query: () =>
          answer === undefined
            ? Promise.resolve({ state: { ...EMPTY_TARGET, activeRevisionId: runId }, running: null })
            : Promise.reject(answer),
        fetchHistory: () => Promise.resolve({ events: [{ workflowTaskCompletedEventAttributes: {} }] }),
      }),
    },
  };
});

const pollUntil: PollUntil = async (_, look) => {
  for (;;) {
    const seen = await look();
    if ('found' in seen) return seen.found;
  }
};

/** An attempt to read the earlier state, with an in-memory record store. */
function attempted(attempt: number): (record: unknown) => Promise<TargetState | null> {
  return async (record) => {
    const records: Record<string, unknown> = {};
    const store = {
      putRecord: (name: string, kept: unknown) => Promise.resolve(void (records[name] = kept)),
      getRecord: (name: string) => Promise.resolve(records[name]),
    };
    const activities = recoveryActivities(() => store, pollUntil);
    const startToCloseTimeoutMs = ATTEMPT_MS;
    const info = {
      attempt,
      startToCloseTimeoutMs,
      workflowExecution: { workflowId: TARGET, runId: RUN_2.runId },
    };
    const environment = new MockActivityEnvironment(info);
    await environment.run(() => activities.keepTarget({ store: 's', state: record as never }));
    const recall = () => activities.recallTarget({ recordStore: 's', afresh: false });
    const { state } = await environment.run<[], { readonly state: TargetState | null }, typeof recall>(
      recall,
    );
    return state;
  };
}

const KEPT = { ...EMPTY_TARGET, nextNumber: 7 };

it('a run that rejects the query is asked again, within the limit of an attempt', async () => {
  await expect(attempted(1)(KEPT)).rejects.toThrow('the query failed');
  expect(waited).toHaveLength(1);
  expect(waited[0]).toBeLessThan(ATTEMPT_MS);
});

it.each([status.CANCELLED, status.DEADLINE_EXCEEDED, status.UNAVAILABLE])(
  'a run that no worker answers for (%s) is not replaced by an older state after two attempts',
  async (code) => {
    answer = unanswered(code);
    await expect(attempted(2)(KEPT)).rejects.toThrow('the query failed');
    await expect(attempted(3)(KEPT)).rejects.toThrow('the query failed');
    expect(await attempted(4)(KEPT)).toMatchObject({ nextNumber: 7, ignored: [{ message: 'recovery' }] });
  },
);

it('a state of the record store is marked as such, with its time and reason', async () => {
  const before = new Date().toISOString().slice(0, 'yyyy-mm-ddThh'.length).replace('T', ' ');
  const state = await attempted(2)(KEPT);
  expect(state).toMatchObject({ nextNumber: 7, ignored: [{ message: 'recovery' }] });
  expect(state?.ignored[0]?.reason).toMatch(
    new RegExp(
      `^recovered from the record store’s state of ${before}.*Z, without what changed later: ` +
        'its run run-1 cannot be asked \\(the query failed\\)$',
    ),
  );
  expect(Object.keys(state ?? {}).sort()).toEqual(Object.keys(EMPTY_TARGET).sort());
});

it.each([
  ['shows no run yet', []],
  ['shows only an older run', [RUN_0]],
])(
  'a list of runs that %s is read again, until it shows the run that ended a moment ago',
  async (_, late) => {
    lists = [late, [RUN_2, RUN_1, RUN_0]];
    answer = undefined;
    expect(await attempted(1)(KEPT)).toMatchObject({ activeRevisionId: RUN_1.runId });
  },
);

it('a release that was deleted is not awaited', async () => {
  const describe = () => Promise.reject(new WorkflowNotFoundError('not found', 'release-1', undefined));
  temporal.client = { workflow: { getHandle: () => ({ describe }) } };
  const look: PollUntil = async (_, once) => (await once()) as never;
  const { awaitWork } = recoveryActivities(() => ({}) as never, look);
  await expect(awaitWork({ workflowId: 'release-1' })).rejects.toMatchObject({
    code: 'SLIPWAY_INTERNAL',
    message: 'release-1 was deleted from Temporal',
  });
});
