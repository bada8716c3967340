import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { billedActions } from '../support/billedActions.ts';

/**
 * The actions of the target for each release: the update that requests it, the start of the child, and the write of
 * its state.
 */
const OF_TARGET = 3;

/** The page's rows that a stored history confirms, and what the target adds. */
const ROWS: readonly (readonly [row: string, history: string, added: number])[] = [
  ['a release over another one, one check', 'promotion.2.release', OF_TARGET],
  ['the first release of a target', 'first-release-then-failed-check.1.release', OF_TARGET],
  ['a release whose check fails', 'first-release-then-failed-check.2.release', OF_TARGET],
  ['a manual rollback', 'rollbacks-and-hold.4.rollback', OF_TARGET],
  ['a release that waits for its revision', 'slow-revision.1.release', OF_TARGET],
  ['a promotion with soak and bake', 'promotion.5.promotion', 0],
];

const page = readFileSync(new URL('../../docs/capacity.md', import.meta.url), 'utf8');

describe('docs/capacity.md', () => {
  it.each(ROWS)('has the billed actions of %s', (row, name, added) => {
    const [, most] = new RegExp(`^\\| ${row}[^|]*\\| +(\\d+) \\|$`, 'm').exec(page) ?? [];
    const file = new URL(`../histories/${name}.json`, import.meta.url);
    const { history } = JSON.parse(readFileSync(file, 'utf8')) as {
      readonly history: { readonly events: Parameters<typeof billedActions>[0] };
    };
    const actions = billedActions(history.events) + added;
    expect(actions).toBeLessThanOrEqual(Number(most));
    // If the actions decrease, lower the figure on the page.
    expect(actions).toBeGreaterThan(Number(most) * 0.8);
  });
});

describe('billed actions', () => {
  it('counts attempts, both sides of a child, and the local activities of one workflow task once', () => {
    const local = (workflowTaskCompletedEventId: string) => ({
      eventType: 'EVENT_TYPE_MARKER_RECORDED',
      markerRecordedEventAttributes: { markerName: 'core_local_activity', workflowTaskCompletedEventId },
    });
    expect(billedActions([local('4'), local('4'), local('9')])).toBe(2);
    expect(
      billedActions([
        { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_STARTED' },
        { eventType: 'EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED' },
        {
          eventType: 'EVENT_TYPE_ACTIVITY_TASK_STARTED',
          activityTaskStartedEventAttributes: { attempt: 3 },
        },
        { eventType: 'EVENT_TYPE_WORKFLOW_TASK_COMPLETED' },
      ]),
    ).toBe(5);
  });

  it('counts a signal from a workflow for its sender', () => {
    const received = { eventType: 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED' };
    const fromWorkflow = { workflowExecutionSignaledEventAttributes: { externalWorkflowExecution: {} } };
    expect(billedActions([received, { ...received, ...fromWorkflow }])).toBe(1);
  });
});
