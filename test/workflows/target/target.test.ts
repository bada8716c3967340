import { describe, expect, it, vi } from 'vitest';

import { jsonBytes, STATE_MAX_BYTES } from '../../../src/domain/bounds.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { EMPTY_TARGET, type TargetState } from '../../../src/domain/target/targetState.ts';
import { holdUpdate, unholdUpdate } from '../../../src/messages/target.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import { identity, QUICK, releaseRequest, tarball } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows('a target', (harness) => {
  it('under queue: all runs each in order, one at a time', async () => {
    const target = harness.newTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'a', { queue: 'all' });
    const ids = [releaseId];
    for (const artifact of ['b', 'c', 'd'])
      ids.push((await target.submit(artifact, { queue: 'all' })).releaseId);
    gate.open();
    await target.ended(ids.at(-1) ?? '');
    const { state } = await target.idle();
    expect(state.history.map(({ releaseId }) => releaseId)).toEqual(ids);
    expect(state.history.every(({ outcome }) => outcome === 'released')).toBe(true);
    expect(target.world.active).toBe(target.world.revisionsOf(tarball('d'))[0]);
  });

  it('does not join a release that served until the deployment was changed by hand', async () => {
    const target = harness.newTarget();
    const first = await target.release('a');
    await target.idle();
    const byHand = target.world.patchElsewhere();
    target.world.bringUp(byHand);
    const again = await target.submit('a');
    expect(again.disposition).toBe('queued');
    const result = await target.result(again.releaseId);
    expect(result).toMatchObject({ outcome: 'released', baseline: { revisionId: byHand } });
    expect(result.revisionId).not.toBe(first.revisionId);
    expect((await target.view()).state.drift).toMatchObject({ expected: first.revisionId, found: byHand });
  });

  it('describes itself in the current details, and what runs and serves in its memo', async () => {
    const target = harness.newTarget();
    const { releaseId, revisionId } = await target.release('a');
    await target.idle();
    const told = await target.handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(told.currentDetails).toContain('**production**: idle');
    expect(told.currentDetails).toContain(`- ${releaseId}: released`);
    expect((await target.handle.describe()).memo).toEqual({ serves: revisionId });
  });

  it('continues after a release that was terminated: errored, and what serves is unknown', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    await target.child(releaseId).terminate('by hand');
    const row = await target.ended(releaseId);
    gate.open();
    expect(row).toMatchObject({
      outcome: 'errored',
      code: 'SLIPWAY_INTERNAL',
      reason: expect.stringContaining('ended without a result') as string,
      servingRevisionId: null,
    });
    expect((await target.view()).state.activeRevisionId).toBeNull();
    const next = await target.release('c');
    expect(next.outcome).toBe('released');
    // The terminated release's revision is checked before anything is changed.
    expect(next.baseline).toMatchObject({ verified: true });
    expect(next.baseline?.revisionId).not.toBe(good);
  });

  describe('garbage', () => {
    it('by signal never blocks it: the target lists what it ignored and still takes a release', async () => {
      const [target] = await harness.newReleasedTarget('a');
      const malformed = GARBAGE.filter((garbage) => garbage !== null);
      for (const garbage of malformed) await target.signal('rollback', garbage);
      await target.signal('hold', 7);
      await target.signal('unhold', 'x');
      await target.signalRaw('rollback', 'json/plain', '{"to": ');
      await target.signalRaw('hold', 'binary/encrypted', 'x');
      // A name that the SDK reserves would break a default handler.
      await target.signal('__temporal_no_such_signal');
      await target.signal('no such signal', { anything: true });
      const { state } = await target.viewOnce((view) => view.state.ignored.length === malformed.length + 5);
      expect(state.hold).toBeNull();
      expect(state.rollbacks).toEqual([]);
      expect(state.ignored.map(({ message }) => message).toSorted()).toEqual([
        'hold',
        'hold',
        'no such signal',
        'rollback',
        ...malformed.map(() => 'rollback'),
        'unhold',
      ]);
      expect((await target.release('b')).outcome).toBe('released');
    });

    it('by update is rejected with the reason', async () => {
      const [target] = await harness.newReleasedTarget('a');
      const updates = ['submitRelease', 'rollback', 'hold', 'unhold'];
      for (const garbage of GARBAGE.filter((value) => value !== null)) {
        for (const name of updates) {
          await expect(target.handle.executeUpdate(name, { args: [garbage] })).rejects.toThrow(
            'Workflow Update failed',
          );
        }
      }
      expect((await target.release('b')).outcome).toBe('released');
    });
  });

  describe('Continue-As-New', () => {
    it('carries everything over, and never leaves a running child', async () => {
      const target = harness.newTarget({ continueAsNewAfterEvents: 30 });
      await target.release('a');
      await target.signal('hold', { who: 'bo', reason: 'freeze' });
      await target.viewOnce(({ state }) => state.hold !== null);
      const before = (await target.view()).state;
      await target.carriedOn(FREEZE);
      expect((await target.view()).state).toEqual(before);
      const next = await target.release('b', { overrideHold: true });
      expect(next).toMatchObject({
        releaseId: 'release-2',
        outcome: 'released',
        baseline: { verified: true },
      });
    });

    it('keeps the answers to rollbacks that ran nothing, for senders that look them up', async () => {
      const { target } = harness.newServingTarget({ continueAsNewAfterEvents: 20 });
      const left = target.world.active ?? '';
      await target.release('b');
      await target.signal('rollback', { requestId: 'done', serving: left });
      await target.signal('rollback', { requestId: 'refused', to: 'a-typo' });
      await target.carriedOn(FREEZE);
      expect(await target.handle.query('lookup', 'done')).toMatchObject({ answer: { disposition: 'done' } });
      expect(await target.handle.query('lookup', 'refused')).toMatchObject({ state: 'refused' });
    });

    it('follows the signal "renew", after the running release', async () => {
      const target = harness.newTarget();
      const { releaseId, gate } = await heldIn('uploadArtifact', target, 'a');
      await target.signal('renew');
      gate.open();
      expect((await target.result(releaseId)).outcome).toBe('released');
      await vi.waitFor(async () => expect(await target.runCount()).toBe(2), 10_000);
      expect((await target.release('b')).baseline).toMatchObject({ verified: true });
    });

    it('does not delay a rollback while its record store is away', async () => {
      const { target, good } = harness.newServingTarget();
      const { kept } = target.world;
      const put = kept.set.bind(kept);
      let attempts = 0;
      vi.spyOn(kept, 'set').mockImplementation((name, record) => {
        if (!name.startsWith('.targets/')) return put(name, record);
        attempts++;
        throw new SlipwayError('SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', 'the store is away');
      });
      const record = { retry: { initialIntervalMs: 30_000, maximumAttempts: 2 } };
      const { releaseId, gate } = await heldIn('uploadArtifact', target, 'a', {
        steps: { ...QUICK, record },
      });
      await target.signal('renew');
      gate.open();
      await target.result(releaseId);
      await vi.waitFor(() => expect(attempts).toBe(1), 10_000);
      const { requestId } = await target.rollback();
      expect(await target.ended(requestId)).toMatchObject({ servingRevisionId: good });
      expect(attempts).toBe(1);
    });

    it('answers every update that arrives meanwhile', async () => {
      const target = harness.newTarget({ continueAsNewAfterEvents: 25 });
      await target.release('a');
      // At most 10 updates may be in flight.
      const ask = () => Array.from({ length: 8 }, (_, index) => hold(target, index % 2 === 0));
      while ((await target.runCount()) < 3) {
        const answers = await Promise.all(ask());
        expect(answers.filter(Boolean)).toHaveLength(4);
      }
      await hold(target, false);
      expect((await target.release('b')).outcome).toBe('released');
    });

    it('resumes the watch of an abandoned revision', async () => {
      const target = harness.newTarget();
      const good = target.world.madeElsewhere('agent');
      const late = target.world.patchElsewhere('late');
      const request = target.request('a');
      target.startWith({
        continueAsNewAfterEvents: 20,
        state: {
          ...EMPTY_TARGET,
          spec: request.target,
          lastRequest: request,
          activeRevisionId: good,
          known: [{ revisionId: good, verified: true, at: '2026-01-01T00:00:00.000Z' }],
          late: [
            {
              revisionId: late,
              deploymentId: target.world.deployment?.id ?? '',
              restoreTo: good,
              until: new Date(Date.now() + 60_000).toISOString(),
            },
          ],
        },
      });
      await target.startOnly();
      await target.world.called('awaitLateSuccess');
      await target.carriedOn(FREEZE);
      await target.world.called('awaitLateSuccess', 2);
      target.world.bringUp(late);
      const { state } = await target.viewOnce((view) => view.state.history.length === 1);
      expect(state.history[0]).toMatchObject({ kind: 'rollback', servingRevisionId: good });
    });
  });
});

const GARBAGE: readonly unknown[] = [
  7,
  null,
  'rollback!',
  true,
  [],
  [{ to: 'x' }],
  { to: 7 },
  { reason: { nested: { deeply: [1, 2, 3] } } },
  { who: ['ada'] },
  { who: 'x'.repeat(100_000) },
];

/** A target whose first release is held in its upload. */
const FREEZE = { who: 'ada', reason: 'release day' };

function hold(target: TargetUnderTest, holding: boolean): Promise<boolean> {
  return target.handle.executeUpdate(holding ? holdUpdate : unholdUpdate, { args: [FREEZE] });
}

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
