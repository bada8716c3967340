import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { BO } from '../lives/life.ts';
import { heldIn, resetHoldingRecall } from '../moments.ts';
import { openOwnHarness } from '../projectHarness.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

/** Longer than a worker may take to read the state after it has started. */
const SLOW_MS = 13_000;

describeWorkflows('a target changed by Temporal’s own tools', (harness) => {
  /** A target with a verified revision, a quarantine, a hold, and a release that polls. */
  const busy = async (): Promise<{ target: TargetUnderTest; good: string }> => {
    const target = harness.newTarget();
    const { revisionId } = await target.release('a');
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('x') }] });
    target.world.slow.add(identity('b'));
    await target.submit('b');
    await target.world.called('awaitDeployed', 2);
    await target.handle.executeUpdate('hold', { args: [BO] });
    return { target, good: revisionId ?? '' };
  };

  const remembers = async (target: TargetUnderTest, good: string): Promise<void> => {
    const { state } = await target.idle();
    expect(state.hold?.by).toMatchObject(BO);
    expect(state.quarantined.map(({ artifact }) => artifact)).toEqual([identity('x')]);
    expect(state.known).toContainEqual(expect.objectContaining({ revisionId: good, verified: true }));
  };

  it('terminated during a release, waits for its restore, continues the numbering, and loses nothing', async () => {
    const { target, good } = await busy();
    const gate = target.world.gate('redeployRevision');
    await target.handle.terminate('by hand');
    await target.world.called('redeployRevision');
    const next = await target.submit('c', { overrideHold: true });
    expect(next).toMatchObject({ releaseId: 'release-3', disposition: 'queued' });
    expect((await target.view()).running).toMatchObject({ releaseId: 'release-2' });
    expect(target.world.count('uploadArtifact')).toBe(2);
    gate.open();
    expect(await target.result(next.releaseId)).toMatchObject({
      outcome: 'released',
      baseline: { revisionId: good, verified: true },
    });
    const { state } = await target.idle();
    expect(state.history.map(({ releaseId, outcome }) => [releaseId, outcome])).toEqual([
      ['release-1', 'released'],
      ['release-2', 'aborted'],
      ['release-3', 'released'],
    ]);
    expect(state.history[1]?.reason).toMatch(/^canceled in Temporal, or its target was terminated; /);
    await remembers(target, good);
  });

  it('terminated while its release restores, still knows that: a rollback without a name changes nothing', async () => {
    const target = harness.newTarget();
    const { revisionId: good } = await target.release('a');
    target.world.bad.add(identity('b'));
    const { releaseId, gate } = await heldIn('redeployRevision', target);
    await target.viewOnce(({ running }) => running?.restores === good);
    await target.handle.terminate('by hand');
    await target.startOnly();
    await target.viewOnce(({ running }) => running?.releaseId === releaseId);
    expect(await target.rollback()).toMatchObject({ disposition: 'joined', onHold: false });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('terminated as well as its release, records the release’s own end', async () => {
    const { target } = await busy();
    target.world.gate('redeployRevision');
    await target.handle.terminate('by hand');
    await target.world.called('redeployRevision');
    await target.startOnly();
    await target.viewOnce(({ running }) => running?.releaseId === 'release-2');
    await target.child('release-2').terminate('by hand too');
    const reason = 'its workflow ended without a result: by hand too';
    expect(await target.ended('release-2')).toMatchObject({ outcome: 'errored', reason });
  });

  it('terminated while a release was queued, releases it in its next run', async () => {
    const target = harness.newTarget();
    await target.release('a');
    target.world.slow.add(identity('b'));
    await target.submit('b');
    await target.world.called('awaitDeployed', 2);
    const waiting = await target.submit('c');
    await target.handle.terminate('by hand');
    await target.startOnly();
    expect(await target.result(waiting.releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('terminated again before it had read its earlier runs, still finds them', async () => {
    const { target, good } = await busy();
    await target.handle.terminate('by hand');
    for (let again = 0; again < 3; again++) {
      await target.startOnly();
      await target.handle.terminate('by hand, again');
    }
    await target.startOnly();
    await target.ended('release-2');
    await remembers(target, good);
  });

  it('whose earlier runs Temporal has deleted, reads its state from the record store', async () => {
    const { target, good } = await busy();
    target.world.slow.clear();
    await target.result('release-2');
    await target.idle();
    await target.handle.terminate('by hand');
    await target.forget();
    const refused = await target.submit('c');
    expect(refused).toMatchObject({ disposition: 'rejected' });
    expect(refused.reason).toContain('on hold');
    await remembers(target, good);
    expect((await target.release('d', { overrideHold: true })).releaseId).toBe('release-4');
  });

  it('whose earlier runs Temporal has deleted during a rollback, does not take that for a later one', async () => {
    const target = harness.newTarget();
    const { revisionId: first } = await target.release('a');
    const { revisionId: second } = await target.release('b');
    const gate = target.world.gate('redeployRevision');
    await target.rollback({ to: first ?? '' });
    await target.world.called('redeployRevision');
    await target.handle.terminate('by hand');
    await target.forget();
    target.startWith({ recordStore: target.request('any').recordStore });
    await target.startOnly();
    await target.viewOnce(({ running }) => running?.kind === 'rollback');
    const { requestId } = await target.rollback({ to: second ?? '' });
    gate.open();
    expect(await target.ended(requestId)).toMatchObject({
      releaseId: 'rollback-4',
      servingRevisionId: second,
    });
  });

  it('whose earlier run cannot be read, accepts nothing until a person restarts it', async () => {
    const target = harness.newTarget();
    await target.startElsewhere(`no workers for ${target.workflowId}`);
    await target.handle.terminate('by hand');
    const refused = await target.submit('a').catch((error: unknown) => error as Error);
    expect(refused).toMatchObject({ cause: { type: 'SLIPWAY_TARGET_UNREADABLE' } });
    const { state, recovering } = await target.view();
    expect(recovering).toBe(true);
    expect(state.hold?.by.reason).toContain('its earlier state cannot be read');
    await expect(target.rollback()).rejects.toMatchObject({ cause: { type: 'SLIPWAY_TARGET_UNREADABLE' } });
    await target.handle.executeUpdate('unhold', { args: [BO] });
    expect(await target.release('a')).toMatchObject({ releaseId: 'release-1', outcome: 'released' });
    expect((await target.view()).state.said.map(({ message }) => message)).toEqual(['unhold']);
  });

  it.each(['last', 'middle', 'first'] as const)(
    'reset to its %s task, continues with everything after it',
    async (to) => {
      const { target, good } = await busy();
      await target.reset(to);
      await target.viewOnce(({ running }) => running?.releaseId === 'release-2');
      target.world.slow.clear();
      expect(await target.result('release-2')).toMatchObject({ outcome: 'released' });
      const { state } = await target.idle();
      expect(state.history.map(({ releaseId }) => releaseId)).toEqual(['release-1', 'release-2']);
      expect(target.world.count('patchDeployment')).toBe(2);
      await remembers(target, good);
      expect(await target.release('c', { overrideHold: true })).toMatchObject({ releaseId: 'release-3' });
    },
  );

  it('reset during a release, still has it restored by a rollback', async () => {
    const { target, good } = await busy();
    await target.reset('last');
    await target.viewOnce(({ running }) => running?.releaseId === 'release-2');
    await target.rollback({ to: good });
    expect(await target.result('release-2')).toMatchObject({ outcome: 'rolled_back' });
  });

  it('reset, keeps what is sent to it while it reads its earlier state', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    await target.signal('hold', BO);
    await target.viewOnce(({ state }) => state.hold !== null);
    await target.signal('unhold', BO);
    await target.viewOnce(({ state }) => state.hold === null);
    const goOn = await resetHoldingRecall(target, 'first');
    await target.signal('quarantine', { ...BO, artifact: identity('x') });
    const submitted = target.submit('b');
    goOn();
    expect((await submitted).disposition).toBe('queued');
    const { state } = await target.viewOnce(({ state }) => state.quarantined.length > 0);
    expect(state.hold).toBeNull();
    expect(state.said.map(({ message }) => message)).toEqual(['hold', 'unhold', 'quarantine']);
  });

  it('reset while it reads what serves for a rollback by signal, still rolls back', async () => {
    const { target } = harness.newServingTarget();
    await target.release('b');
    const looks = target.world.count('findDeployment');
    const look = target.world.gate('findDeployment');
    await target.signal('rollback', { requestId: 'in-flight', ...BO });
    await target.world.called('findDeployment', looks + 1);
    await target.reset('last');
    look.open();
    expect(await target.ended('in-flight')).toMatchObject({ kind: 'rollback', outcome: 'rolled_back' });
  });

  it.each([false, true])(
    'reset to its first task after Continue-As-New, repeats no release (one runs: %s)',
    async (runs) => {
      const { target } = harness.newServingTarget();
      await target.release('b', { queue: 'all' });
      if (runs) target.world.slow.add(identity('c'));
      const { releaseId } = await target.submit('c', { queue: 'all' });
      if (runs) await target.world.called('awaitDeployed', 3);
      else await target.result(releaseId);
      await target.reset('first');
      await target.viewOnce(({ state, recovering }) => recovering !== true && state.history.length > 0);
      target.world.slow.clear();
      await target.result(releaseId);
      expect(await target.release('d')).toMatchObject({ releaseId: 'release-3', outcome: 'released' });
      expect(target.world.count('patchDeployment')).toBe(3);
      expect((await target.view()).state.history.map(({ outcome }) => outcome)).toEqual(
        Array(3).fill('released'),
      );
    },
  );

  it('canceled, continues, and so does its release', async () => {
    const { target, good } = await busy();
    await target.handle.cancel();
    const { state } = await target.viewOnce((view) => view.state.ignored.length > 0);
    expect(state.ignored[0]?.message).toBe('cancel');
    target.world.slow.clear();
    expect(await target.result('release-2')).toMatchObject({ outcome: 'released' });
    await remembers(target, good);
  });

  it.each(['signal', 'update'] as const)('canceled, still accepts a rollback by %s', async (way) => {
    const [target, good, left] = await harness.newReleasedTarget('a', 'b');
    await target.handle.cancel();
    await target.viewOnce(({ state }) => state.ignored.length > 0);
    const message = { ...BO, serving: left };
    if (way === 'signal') await target.signal('rollback', message);
    else await target.handle.executeUpdate('rollback', { args: [message] });
    const { state } = await target.viewOnce((view) => view.state.history.length === 3);
    expect(state.history[2]).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect((await target.handle.describe()).status.name).toBe('RUNNING');
  });

  it('canceled before its handlers are ready, takes the waiting messages afterwards', async () => {
    const target = harness.newTarget();
    await target.startElsewhere(`no workers for ${target.workflowId}`);
    await target.handle.terminate('by hand');
    await target.startOnly();
    await target.viewOnce(({ state }) => state.hold !== null);
    await target.signal('quarantine', { ...BO, artifact: identity('x') });
    await target.handle.cancel();
    await target.handle.executeUpdate('unhold', { args: [BO] });
    const { state } = await target.viewOnce((view) => view.state.quarantined.length === 1);
    expect(state.quarantined[0]?.artifact).toBe(identity('x'));
  });

  it('new, rejects an invalid request, on any worker that replays it', async () => {
    const target = harness.newTarget();
    const wrong = target.request('a', { queue: 'some' as never });
    await expect(target.submit(wrong)).rejects.toThrow();
    expect(await target.release('b')).toMatchObject({ releaseId: 'release-1', outcome: 'released' });
    expect(target.world.count('uploadArtifact')).toBe(1);
  });

  it('new, waits for a worker that is slow to start activities, and rejects nothing', async () => {
    const { harness: slow } = await openOwnHarness({ slots: 1 });
    try {
      const { target: busy } = slow.newServingTarget();
      const { gate } = await heldIn('findDeployment', busy, 'a');
      const target = slow.newTarget();
      const submitted = target.submit('a');
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
      gate.open();
      expect(await submitted).toMatchObject({ releaseId: 'release-1', disposition: 'queued' });
      expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
      expect((await target.idle()).state.hold).toBeNull();
      for (const each of slow.targets) await each.terminate();
    } finally {
      await slow.close();
    }
  });
});
