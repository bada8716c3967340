import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeEach, expect, it, vi } from 'vitest';

import { recoveryActivities } from '../../src/activities/recoveryActivities.ts';
import { EMPTY_TARGET, type TargetState } from '../../src/domain/targetState.ts';

/** Less than the 10 s that an attempt has: a target that starts without its state waits for no longer. */
const ANSWER_WITHIN_MS = 3_000;
const TARGET = 'target:http://plane.test:agent';

const temporal = vi.hoisted((): { client: unknown } => ({ client: undefined }));
vi.mock('../../src/activities/askTemporal.ts', () => ({
  askTemporal: (ask: (client: unknown) => unknown) => ask(temporal.client),
}));

let waited: number[];
beforeEach(() => {
  waited = [];
  // It has one earlier run, which once worked and does not answer any more, and no release.
  const run = { runId: 'run-1', startTime: new Date(0) };
  temporal.client = {
    withDeadline: (deadline: number, call: () => unknown) => {
      waited.push(deadline - Date.now());
      return call();
    },
    workflow: {
      list: ({ query }: { readonly query: string }) => (query.includes('STARTS_WITH') ? [] : [run]),
      getHandle: () => ({
        query: () => Promise.reject(new Error('the query timed out')),
        fetchHistory: () => Promise.resolve({ events: [{ workflowTaskCompletedEventAttributes: {} }] }),
      }),
    },
  };
});

/** An attempt to read the earlier state, with a record store in memory. */
function attempted(attempt: number): (record: unknown) => Promise<TargetState | null> {
  return async (record) => {
    const records: Record<string, unknown> = {};
    const store = {
      putRecord: (name: string, kept: unknown) => Promise.resolve(void (records[name] = kept)),
      getRecord: (name: string) => Promise.resolve(records[name]),
    };
    const activities = recoveryActivities(
      () => store,
      () => Promise.reject(new Error('nothing is polled')),
    );
    const info = { attempt, workflowExecution: { workflowId: TARGET, runId: 'run-2' } };
    const environment = new MockActivityEnvironment(info);
    await environment.run(() => activities.keepTarget({ store: 's', state: record as never }));
    const recall = () => activities.recallTarget({ recordStore: 's', afresh: false, isReset: false });
    const { state } = await environment.run<[], { readonly state: TargetState | null }, typeof recall>(
      recall,
    );
    return state;
  };
}

const KEPT = { ...EMPTY_TARGET, nextNumber: 7 };

it('a run that does not answer is asked again, and waited for no longer than an attempt has', async () => {
  await expect(attempted(1)(KEPT)).rejects.toThrow('the query timed out');
  expect(waited).toHaveLength(1);
  expect(waited[0]).toBeLessThanOrEqual(ANSWER_WITHIN_MS);
});

it('a state of the record store is said to be one, with its time and why', async () => {
  const before = new Date().toISOString().slice(0, 'yyyy-mm-ddThh'.length);
  const state = await attempted(2)(KEPT);
  expect(state).toMatchObject({ nextNumber: 7, ignored: [{ message: 'recovery' }] });
  expect(state?.ignored[0]?.reason).toMatch(
    new RegExp(
      `^recovered from the record store’s state of ${before}.*Z, without what changed later: ` +
        'its run run-1 cannot be asked \\(the query timed out\\)$',
    ),
  );
  expect(Object.keys(state ?? {}).sort()).toEqual(Object.keys(EMPTY_TARGET).sort());
});
