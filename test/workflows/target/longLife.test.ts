import { expect, it } from 'vitest';

import { jsonBytes, STATE_MAX_BYTES } from '../../../src/domain/bounds.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import { identity, releaseRequest } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/** The events that a target adds beyond its limit, and those of one release. */
const EVENTS_OF_ONE_RELEASE = 40;

describeWorkflows('a target with 5,000 earlier releases', (harness) => {
  it('can be read, released to and rolled back like any other, and keeps all of it', async () => {
    const { target, good } = harness.newServingTarget();
    target.startWith({ continueAsNewAfterEvents: 30, state: full(target, good) });
    const answer = await target.submit('b');
    expect(answer.releaseId).toBe('release-5001');
    expect(await target.result(answer.releaseId)).toMatchObject({ outcome: 'released' });
    const { requestId } = await target.rollback({ reason: 'x'.repeat(1_000) });
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    await target.carriedOn({ who: 'ada' });
    const { state } = await target.view();
    expect(state.history).toHaveLength(100);
    expect(state.history.at(-1)).toMatchObject({ kind: 'rollback' });
    expect(state.quarantined).toHaveLength(100);
    expect(jsonBytes(state)).toBeLessThan(STATE_MAX_BYTES);
  });

  it('never has a long history, because it continues as new between two releases', async () => {
    const continueAsNewAfterEvents = 40;
    const { target, good } = harness.newServingTarget();
    target.startWith({ continueAsNewAfterEvents, state: full(target, good) });
    for (const artifact of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      expect((await target.release(artifact)).outcome).toBe('released');
    }
    const own = (await target.histories()).filter(({ workflowId }) => workflowId === target.workflowId);
    const lengths = own.map(({ history }) => history.events?.length ?? 0);
    expect(lengths.length).toBeGreaterThan(2);
    expect(Math.max(...lengths)).toBeLessThan(continueAsNewAfterEvents + EVENTS_OF_ONE_RELEASE);
  });

  it('does not have one after endless rollbacks either: they are carried over too', async () => {
    const { target, good } = harness.newServingTarget();
    const elsewhere = ['p', 'q', 'r', 's', 't', 'u'].map((name) => target.world.patchElsewhere(name));
    const known = [...elsewhere, good].map((revisionId) => ({
      revisionId,
      verified: true,
      at: '2026-01-01T00:00:00.000Z',
    }));
    const state = { ...EMPTY_TARGET, known, activeRevisionId: good };
    target.startWith({ continueAsNewAfterEvents: 10, state });
    const { gate } = await heldIn('uploadArtifact', target);
    const asked = await Promise.all(elsewhere.map((to) => target.rollback({ to })));
    gate.open();
    await Promise.all(asked.map(({ requestId }) => target.ended(requestId)));
    const own = (await target.histories()).filter(({ workflowId }) => workflowId === target.workflowId);
    const lengths = own.map(({ history }) => history.events?.length ?? 0);
    expect(Math.max(...lengths)).toBeLessThan(40 + 2 * EVENTS_OF_ONE_RELEASE);
    expect(own.length).toBeGreaterThan(2);
  });
});

/** A state whose lists have their greatest length. */
function full(target: TargetUnderTest, serving: string): TargetState {
  const request = releaseRequest(target.world.id, 'a');
  const at = '2026-01-01T00:00:00.000Z';
  const by = { who: 'ada', from: 'test', reason: 'it did not do what it should' };
  const several = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  return {
    ...EMPTY_TARGET,
    spec: request.target,
    lastRequest: request,
    nextNumber: 5_001,
    activeRevisionId: serving,
    known: [
      ...several(49, (index) => ({ revisionId: `old-${index}`, verified: false, at })),
      { revisionId: serving, verified: true, at },
    ],
    history: several(100, (index) => ({
      releaseId: `release-${4_901 + index}`,
      kind: 'release' as const,
      requestKey: `old-${index}`,
      artifact: 'sha256:000000000000',
      commit: 'c0ffee',
      outcome: 'released' as const,
      reason: 'x'.repeat(1_000),
      revisionId: `old-${index}`,
      servingRevisionId: `old-${index}`,
      requestedBy: by,
      endedAt: at,
      rollbackRequestIds: [],
    })),
    ignored: several(20, () => ({ at, message: 'rollback', reason: 'the message is not an object' })),
    seenRequestIds: several(100, (index) => `request-${index}`),
    quarantined: several(100, (index) => ({ artifact: identity(`bad-${index}`), since: at, by })),
    failedChecks: several(100, (index) => ({
      artifact: identity(`bad-${index}`),
      releaseIds: ['release-1', 'release-2'],
    })),
  };
}
