import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';

import { audit } from '../../src/domain/audit/audit.ts';
import { readTargetFacts } from '../../src/temporal/audit/readFacts.ts';
import { type Harness, openHarness, replayFailures } from './harness.ts';
import { type RecordedHistory } from './targetUnderTest.ts';
import { type Call, type World } from './world.ts';

/** The ways in which every workflow test runs: with the usual cache, and rebuilt from history at each task. */
const MODES = [
  { mode: 'with the usual cache' },
  { mode: 'without any cache', maxCachedWorkflows: 0 },
] as const;

/**
 * Runs a file's tests once per mode. Afterwards what must always hold is held against all that happened in them: every
 * history replays, no run left a child behind, and no target was ever worked on by two.
 */
export function describeWorkflows(name: string, tests: (harness: Harness) => void): void {
  describe.each(MODES)(`${name}, $mode`, ({ mode: _, ...options }) => {
    let opened: Harness | undefined;
    const open = (): Harness => {
      if (opened === undefined) throw new Error('the harness is used before it is up');
      return opened;
    };

    beforeAll(async () => {
      const id = `${process.pid}-${Date.now().toString(36)}`;
      opened = await openHarness({
        address: inject('temporalAddress'),
        workflowBundle: inject('workflowBundle'),
        taskQueue: `queue-${id}`,
        nameWorld: (number) => `world-${id}-${number}`,
        ...options,
      });
    });

    afterAll(() => opened?.close());

    describe.concurrent('tests', () =>
      tests({
        get targets() {
          return open().targets;
        },
        newTarget: (input) => open().newTarget(input),
        newServingTarget: (input) => open().newServingTarget(input),
        close: () => open().close(),
      }),
    );

    test('every history that these tests made replays, and no run left a child behind', async () => {
      const histories: RecordedHistory[] = [];
      for (const target of open().targets) histories.push(...(await target.histories()));
      expect(histories.length).toBeGreaterThan(0);
      expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
      expect(histories.filter(leavesChildBehind)).toEqual([]);
    });

    test('what must always hold has held on every target', async () => {
      const { targets } = open();
      for (const target of targets) {
        const evidence = {
          target: readTargetFacts(target.workflowId, await target.histories()),
          observed: target.world.observed,
          secrets: [],
        };
        expect(audit(evidence)).toEqual([]);
      }
    });

    test('no two releases or rollbacks ever worked on one target at a time', async () => {
      const { targets } = open();
      expect(targets.flatMap(({ world }) => interleavings(world))).toEqual([]);
      for (const target of targets) await target.terminate();
    });
  });
}

/** Whether a run continued as new while a child of it ran: that would have terminated the child. */
function leavesChildBehind({ history }: RecordedHistory): boolean {
  const events = history.events ?? [];
  if (events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes == null) return false;
  const started = events.filter((event) => event.childWorkflowExecutionStartedEventAttributes != null);
  const ended = events.filter(
    (event) =>
      event.childWorkflowExecutionCompletedEventAttributes != null ||
      event.childWorkflowExecutionTerminatedEventAttributes != null,
  );
  return started.length !== ended.length;
}

/** Pairs of releases or rollbacks of one target of which the second began to call before the first had ended to. */
function interleavings({ calls }: World): string[] {
  const workers = new Map<string, Call[]>();
  for (const call of calls) {
    const { workflowId, runId } = call;
    // A target's own calls only watch.
    if (!/\/(?:release|rollback)-\d+$/.test(workflowId)) continue;
    const worker = `${workflowId} ${runId}`;
    workers.set(worker, [...(workers.get(worker) ?? []), call]);
  }
  const spans = [...workers].map(([worker, own]) => ({
    worker,
    from: own[0]?.startedAt ?? 0,
    to: own.at(-1)?.startedAt ?? 0,
  }));
  return spans
    .slice(1)
    .flatMap((span, index) =>
      (spans[index]?.to ?? 0) > span.from ? [`${spans[index]?.worker ?? ''} and ${span.worker}`] : [],
    );
}
