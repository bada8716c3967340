import { readdir, readFile } from 'node:fs/promises';

import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect, it } from 'vitest';

import { spellings } from '../../../src/clients/removeSecrets.ts';
import { audit } from '../../../src/domain/audit/audit.ts';
import { QUERY_TOO_EARLY } from '../../../src/messages/earlyQuery.ts';
import { type AuditedHistory, readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { payloads, signal } from './events.ts';

const CHILD_STARTED = [
  { workflowTaskScheduledEventAttributes: {} },
  { workflowTaskCompletedEventAttributes: {} },
  { startChildWorkflowExecutionInitiatedEventAttributes: {} },
];
const CHILD_ENDED = { childWorkflowExecutionCompletedEventAttributes: { initiatedEventId: 3 } };
const TASK_DONE = [
  { workflowTaskScheduledEventAttributes: {} },
  { workflowTaskCompletedEventAttributes: {} },
];

it('a target is idle after it has processed the end of its child, and not before', () => {
  expect(isIdle(CHILD_STARTED)).toBe(false);
  expect(isIdle([...CHILD_STARTED, CHILD_ENDED, TASK_DONE[0]!])).toBe(false);
  expect(isIdle([...CHILD_STARTED, CHILD_ENDED, ...TASK_DONE])).toBe(true);
});

it('the audit finds a secret that JSON writes differently in a payload', () => {
  const secret = 'a "quoted" line\nand another';
  const history = { events: [signal('x', { reason: `failed with ${secret}` })] };
  const target = readTargetFacts('target', [{ workflowId: 'target', runId: 'run', history }] as never);
  const found = (secrets: readonly string[]) => audit({ target, observed: null, secrets });
  expect(found(spellings(secret))).toMatchObject([{ rule: 7 }]);
  expect(found(spellings('another "quoted" line'))).toEqual([]);
});

it('a target is not idle while it waits for the timer of its Continue-As-New', () => {
  const timer = { timerStartedEventAttributes: { timerId: '7' } };
  expect(isIdle([...TASK_DONE, timer])).toBe(false);
  expect(isIdle([...TASK_DONE, timer, { timerFiredEventAttributes: { timerId: '7' } }, ...TASK_DONE])).toBe(
    true,
  );
  expect(
    isIdle([...TASK_DONE, timer, { timerCanceledEventAttributes: { timerId: '7' } }, ...TASK_DONE]),
  ).toBe(true);
});

it('a target is idle after the start of a notice that it does not wait for', () => {
  const begun = { startChildWorkflowExecutionInitiatedEventAttributes: { parentClosePolicy: 2 } };
  expect(isIdle([begun, ...TASK_DONE])).toBe(false);
  const started = { childWorkflowExecutionStartedEventAttributes: { initiatedEventId: 1 } };
  expect(isIdle([begun, started, ...TASK_DONE])).toBe(true);
  const refused = { startChildWorkflowExecutionFailedEventAttributes: { initiatedEventId: 1 } };
  expect(isIdle([begun, refused, ...TASK_DONE])).toBe(true);
});

it('a target that has ended is not idle', () => {
  expect(isIdle([...TASK_DONE, { workflowExecutionTerminatedEventAttributes: {} }])).toBe(false);
});

it('an activity that its workflow cancelled counts as abandoned, with any result', () => {
  const at = (seconds: number) => ({ eventTime: { seconds } });
  const scheduled = { activityTaskScheduledEventAttributes: { activityType: { name: 'awaitLateSuccess' } } };
  const asked = { activityTaskCancelRequestedEventAttributes: { scheduledEventId: 1 } };
  const ended = { activityTaskCompletedEventAttributes: { scheduledEventId: 1 } };
  const events = [
    { eventId: 1, ...at(1), ...scheduled },
    { eventId: 2, ...at(2), ...scheduled },
    { eventId: 3, ...at(3), ...asked },
    { eventId: 4, ...at(4), ...ended },
  ];
  const { activities } = factsOf(events);
  expect(activities).toMatchObject([{ abandonedAt: 3_000, outcome: 'completed' }, { outcome: 'open' }]);
  expect(activities[1]?.abandonedAt).toBeUndefined();
});

it('an activity within a workflow task is read from its marker', () => {
  const marker = (name: string, seconds: number | null, more: object): object => ({
    eventTime: { seconds: 9 },
    markerRecordedEventAttributes: {
      markerName: 'core_local_activity',
      details: {
        data: payloads({
          activity_type: name,
          complete_time: seconds === null ? null : { seconds, nanos: 500_000_000 },
        }),
        input: payloads({ revisionId: 'r' }),
        ...('failure' in more ? {} : { result: payloads({ attempt: 1 }) }),
      },
      ...more,
    },
  });
  const events = [
    { eventTime: { seconds: 1 }, workflowTaskStartedEventAttributes: {} },
    marker('readRevision', 1, {}),
    marker('awaitDeployed', 2, { failure: { applicationFailureInfo: { details: payloads({}) } } }),
    marker('confirmServing', 3, { failure: { timeoutFailureInfo: {} } }),
    marker('confirmServing', null, {
      failure: { cause: { canceledFailureInfo: {} }, activityFailureInfo: {} },
    }),
    { markerRecordedEventAttributes: { markerName: 'core_patch' } },
  ];
  const { activities } = factsOf(events);
  const input = { revisionId: 'r' };
  expect(activities).toMatchObject([
    { name: 'readRevision', input, scheduledAt: 1_000, endedAt: 1_500, outcome: 'completed' },
    { name: 'awaitDeployed', input, scheduledAt: 1_500, endedAt: 2_500, outcome: 'failed', result: null },
    { name: 'confirmServing', input, scheduledAt: 2_500, endedAt: 3_500, outcome: 'timed_out' },
    { name: 'confirmServing', input, scheduledAt: 3_500, endedAt: 9_000, outcome: 'canceled' },
  ]);
});

it.each([
  ['a buffer, as the client hands it out', (text: string) => Buffer.from(text)],
  ['bytes', (text: string) => new TextEncoder().encode(text)],
])('the text of every history, also of a promotion’s, contains its payloads: %s', (_, encode) => {
  const input = { payloads: [{ metadata: {}, data: encode('{"key":"it says this"}') }] };
  const history = {
    events: [{ workflowExecutionStartedEventAttributes: { input } }],
  } as unknown as AuditedHistory['history'];
  const ids = ['target:t', 'target:t/release-1', 'notice:t', 'promotion:p'];
  const { texts } = readTargetFacts(
    'target:t',
    ids.map((workflowId) => ({ workflowId, history })),
  );
  expect(texts.map(({ workflowId }) => workflowId)).toEqual(ids);
  for (const { text } of texts) expect(text).toContain('it says this');
});

it('distinguishes a workflow task that failed from the last one, after which workers could not continue', () => {
  const failed = (message: string, cause = 24): object => ({
    workflowTaskFailedEventAttributes: { cause, failure: { message } },
  });
  const lost = failed('a reset of its worker', 20);
  const refused = failed(`ApplicationFailure: ${QUERY_TOO_EARLY}`);
  const failures = (...events: object[]): unknown => factsOf(events).taskFailures;
  const told = (isLast: boolean): object => ({
    workflowId: 'target:t',
    message: '[TMPRL1100] broken',
    isLast,
  });
  expect(failures(...TASK_DONE, failed('[TMPRL1100] broken'), lost, refused)).toEqual([told(true)]);
  expect(failures(failed('[TMPRL1100] broken'), ...TASK_DONE, refused)).toEqual([told(false)]);
  const evicted = failed(
    'Fatal error: Attempted to check for LA marker handling in invalid state RequestSent',
  );
  expect(failures(evicted, ...TASK_DONE)).toEqual([]);
  expect(failures(...TASK_DONE, evicted)).toMatchObject([{ isLast: true }]);
});

function factsOf(events: readonly object[]) {
  const history = { events } as unknown as AuditedHistory['history'];
  return readTargetFacts('target:t', [{ workflowId: 'target:t', history }]);
}

function isIdle(events: readonly object[]): boolean {
  return factsOf(events.map((event, index) => ({ eventId: index + 1, ...event }))).idle;
}

it('a work is unguarded if the target saw its end and started no guard before the next work', () => {
  const ended = {
    childWorkflowExecutionCompletedEventAttributes: {
      workflowExecution: { workflowId: 'target:t/release-2' },
    },
  };
  const begins = (workflowId: string) => ({
    startChildWorkflowExecutionInitiatedEventAttributes: { workflowId },
  });
  const task = { workflowTaskCompletedEventAttributes: {} };
  const guard = begins('guard:target:t/release-1');
  const next = begins('target:t/release-3');
  const unguarded = (...events: readonly object[]) => factsOf(events).unguarded;
  expect(unguarded(ended, task, begins('notice:n'), guard, next)).toEqual([]);
  expect(unguarded(ended, task, next, guard)).toEqual(['target:t/release-2']);
  expect(unguarded(ended, task)).toEqual(['target:t/release-2']);
  expect(unguarded(task, ended)).toEqual([]);
  // What came with a reset was for the life that it ended.
  const reset = { workflowTaskFailedEventAttributes: { newRunId: 'run-2' } };
  expect(unguarded(task, ended, reset, task, next)).toEqual([]);
  expect(unguarded(task, reset, ended, task, next)).toEqual([]);
  expect(unguarded(task, reset, ended, task, next, reset, task)).toEqual([]);
  expect(unguarded(ended, task, reset, task, next)).toEqual(['target:t/release-2']);
  expect(unguarded(task, reset, task, ended, task)).toEqual(['target:t/release-2']);
});

it('a target’s guards are read with their verdicts, and a release whose guard was not started is found', async () => {
  const folder = new URL('../../histories/', import.meta.url);
  const files = (await readdir(folder)).filter((name) => name.startsWith('guards.'));
  const stored = files.map(async (name): Promise<AuditedHistory> => {
    const { workflowId, history } = JSON.parse(
      await readFile(new URL(name, folder), 'utf8'),
    ) as AuditedHistory;
    return { workflowId, history: historyFromJSON(history) };
  });
  const histories = await Promise.all(stored);
  const targetId = histories[0]!.workflowId;
  const facts = readTargetFacts(targetId, histories);
  expect(facts.guards.map(({ report }) => report?.verdict).sort()).toEqual(['passed', 'preempted', 'worse']);
  expect(audit({ target: facts, observed: null, secrets: [] })).toEqual([]);
  const starts = 'startChildWorkflowExecutionInitiatedEventAttributes';
  const own = {
    events: histories[0]!.history.events!.filter((event) => !event[starts]?.workflowId?.startsWith('guard:')),
  };
  const without = readTargetFacts(targetId, [{ workflowId: targetId, history: own }, ...histories.slice(1)]);
  const found = audit({ target: without, observed: null, secrets: [] });
  expect(found.map(({ rule }) => rule)).toEqual([14, 14, 14]);
});
