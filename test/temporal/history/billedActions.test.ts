import { readFile } from 'node:fs/promises';

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, it } from 'vitest';

import { ACTIONS_OF_TARGET, billedActions } from '../../../src/temporal/history/billedActions.ts';

type Events = Parameters<typeof billedActions>[0];
const NONE = billedActions([]).actions;
const actionsOf = (...events: readonly object[]) => billedActions(events).actions;
const costOf = async (name: string) => {
  const text = await readFile(new URL(`../../histories/${name}.json`, import.meta.url), 'utf8');
  const { history } = JSON.parse(text) as { readonly history: unknown };
  return billedActions(historyFromJSON(history).events ?? []);
};

describe('billed actions', () => {
  it.each([
    ['a start, also by continuing as a new run', 'workflowExecutionStarted', 'starts'],
    ['the start of a child', 'startChildWorkflowExecutionInitiated', 'children'],
    ['a timer', 'timerStarted', 'timers'],
    ['a signal from outside', 'workflowExecutionSignaled', 'signals'],
    ['a signal to another workflow', 'signalExternalWorkflowExecutionInitiated', 'signals'],
    ['an update that was accepted', 'workflowExecutionUpdateAccepted', 'updates'],
    ['a change of the workflow’s version', 'workflowExecutionOptionsUpdated', 'options'],
  ])('are one for %s', (_what, event, kind) => {
    expect(actionsOf({ [`${event}EventAttributes`]: {} })).toEqual({ ...NONE, [kind]: 1 });
  });

  it('are one for each attempt at an activity', () => {
    const started = { activityTaskStartedEventAttributes: { attempt: 3 } };
    expect(actionsOf(started, { activityTaskCompletedEventAttributes: {} })).toEqual({
      ...NONE,
      attempts: 3,
    });
  });

  it('are one for all local activities of one workflow task', () => {
    const local = (workflowTaskCompletedEventId: string) => ({
      markerRecordedEventAttributes: { markerName: 'core_local_activity', workflowTaskCompletedEventId },
    });
    expect(actionsOf(local('4'), local('4'), local('9'))).toEqual({ ...NONE, localActivities: 2 });
  });

  it('are none for a signal from a workflow, which is billed to its sender', () => {
    const fromWorkflow = { workflowExecutionSignaledEventAttributes: { externalWorkflowExecution: {} } };
    expect(actionsOf(fromWorkflow)).toEqual(NONE);
  });

  it('are one for all search attributes changed together, and none for the SDK’s own', () => {
    const upserted = (indexedFields: object) => ({
      upsertWorkflowSearchAttributesEventAttributes: { searchAttributes: { indexedFields } },
    });
    expect(actionsOf(upserted({ one: {}, other: {} }))).toEqual({ ...NONE, searchAttributes: 1 });
    expect(actionsOf(upserted({ TemporalChangeVersion: {} }))).toEqual(NONE);
  });

  it('are none for workflow tasks, and for the ends of activities and children', () => {
    for (const event of [
      'workflowTaskCompleted',
      'activityTaskCompleted',
      'childWorkflowExecutionCompleted',
    ]) {
      expect(actionsOf({ [`${event}EventAttributes`]: {} })).toEqual(NONE);
    }
  });
});

describe('heartbeats', () => {
  const activity = (seconds: number, heartbeatTimeout: object | undefined, attempt = 1): Events =>
    [
      {
        eventId: 5,
        eventTime: { seconds: 100 },
        activityTaskScheduledEventAttributes: { heartbeatTimeout },
      },
      { activityTaskStartedEventAttributes: { scheduledEventId: 5, attempt } },
      {
        eventTime: { seconds: 100 + seconds },
        activityTaskCompletedEventAttributes: { scheduledEventId: 5 },
      },
    ] as unknown as Events;

  it('are at most one for each attempt, and one for each that the SDK sends', () => {
    expect(billedActions(activity(60, { seconds: 10 })).heartbeatsAtMost).toBe(1 + 7);
    expect(billedActions(activity(60, { seconds: 10 }, 3)).heartbeatsAtMost).toBe(3 + 7);
    expect(billedActions(activity(600, { seconds: 3_600 })).heartbeatsAtMost).toBe(1 + 10);
  });

  it('are none for an activity without a heartbeat timeout, or that ends immediately', () => {
    expect(billedActions(activity(60, undefined)).heartbeatsAtMost).toBe(0);
    expect(billedActions(activity(0.2, { seconds: 10 })).heartbeatsAtMost).toBe(0);
  });
});

describe('a stored history', () => {
  it('of a target has its own start with its first write, and the cost of each of its two releases', async () => {
    const { actions, total } = await costOf('first-release-then-failed-check.0.target');
    expect(actions).toMatchObject({ starts: 1, children: 2, updates: 2, attempts: 2, localActivities: 1 });
    expect(total - actions.signals).toBe(2 + 2 * ACTIONS_OF_TARGET.release);
  });

  it('of a release adds up', async () => {
    const { actions, total } = await costOf('slow-revision.1.release');
    expect(Object.values(actions).reduce((sum: number, each: number) => sum + each, 0)).toBe(total);
    expect(actions).toMatchObject({ starts: 1, attempts: 3, timers: 1, signals: 1, searchAttributes: 1 });
  });
});
