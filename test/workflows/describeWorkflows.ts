import { describe, expect, inject, test } from 'vitest';

import { audit } from '../../src/domain/audit/audit.ts';
import { hasOpenChild, readTargetFacts } from '../../src/temporal/history/readFacts.ts';
import { type Harness, replayedEachTime, replayFailures } from './harness.ts';
import type { RecordedHistory } from './recordedHistory.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import { useHarness } from './projectHarness.ts';
import type { Call, World } from './world.ts';

/** For the checks after the tests. */
const IN_TURN = { concurrent: false };

/**
 * Runs a file's tests with the workers of the project (`workerMode` in `vitest.config.ts`), all concurrently: each has
 * its own target and world. Afterwards it checks the invariants of all that happened: histories replay, no run left a
 * child behind, and never did two works use one target at a time.
 */
export function describeWorkflows(name: string, tests: (harness: Harness) => void): void {
  describe.concurrent(name, () => {
    const workerMode = inject('workerMode');
    const harness = useHarness();
    let made: readonly Life[] = [];

    describe.concurrent('tests', () => tests(harness));

    test('runs of these tests replay, and left no child', IN_TURN, async () => {
      made = await Promise.all(
        harness.targets.map(async (target) => ({ target, histories: await target.histories() })),
      );
      const histories = made.flatMap((life) => life.histories);
      expect(histories.length).toBeGreaterThan(0);
      // A worker without a cache has replayed each of them, from its first event, at every task.
      if (workerMode.maxCachedWorkflows !== 0) {
        expect(await replayFailures(inject('workflowBundle'), replayedEachTime(histories))).toEqual([]);
      }
      expect(histories.filter(leavesChildBehind)).toEqual([]);
    });

    test('the invariants held on every target', IN_TURN, () => {
      const facts = made.map(({ target, histories }) => ({
        target,
        own: readTargetFacts(target.workflowId, histories),
      }));
      for (const { target, own } of facts) {
        const others = facts.filter((other) => other.target.world === target.world && other.own !== own);
        const evidence = {
          target: own,
          others: others.map((other) => other.own),
          observed: target.world.observed,
          secrets: [],
        };
        expect(audit(evidence)).toEqual([]);
      }
    });

    test('no two releases or rollbacks ever ran on one target at the same time', IN_TURN, async () => {
      const { targets } = harness;
      expect(targets.flatMap(({ world }) => interleavings(world))).toEqual([]);
      await Promise.all(targets.map((target) => target.terminate()));
    });
  });
}

interface Life {
  readonly target: TargetUnderTest;
  readonly histories: readonly RecordedHistory[];
}

/** Whether a run continued as new while its child ran, which would have terminated the child. */
function leavesChildBehind({ history }: RecordedHistory): boolean {
  const last = history.events?.at(-1);
  return last?.workflowExecutionContinuedAsNewEventAttributes != null && hasOpenChild(history);
}

/** Pairs of releases or rollbacks of one target whose calls overlapped in time. */
function interleavings({ calls }: World): string[] {
  const workers = new Map<string, Call[]>();
  for (const call of calls) {
    const { workflowId, runId } = call;
    // The calls of a target and of a guard only read.
    if (workflowId.startsWith('guard:') || !/\/(?:release|rollback)-\d+$/.test(workflowId)) continue;
    const worker = `${workflowId} ${runId}`;
    workers.set(worker, [...(workers.get(worker) ?? []), call]);
  }
  // Work that only read, and recorded that, was refused.
  const busy = [...workers].filter(([, own]) =>
    own.some(({ activity }) => activity !== 'findDeployment' && activity !== 'recordRelease'),
  );
  const spans = busy.map(([worker, own]) => ({
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
