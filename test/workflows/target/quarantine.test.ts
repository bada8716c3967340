import { expect, it } from 'vitest';

import { quarantineArtifact } from '../../../src/domain/target/quarantine.ts';
import type { TargetState } from '../../../src/domain/target/targetState.ts';
import { ADA, NOW } from '../../domain/target/targets.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn, resetHoldingRecall } from '../moments.ts';
import { identity } from '../requests.ts';
import { seen } from '../seen.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const BO = { who: 'bo', reason: 'a reason' };

describeWorkflows('a quarantine', (harness) => {
  it('by a person: a release of the artifact is rejected before anything is changed', async () => {
    const [target] = await harness.newReleasedTarget('x', 'b');
    const artifact = identity('b');
    expect(await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact }] })).toBe(artifact);
    const calls = target.world.calls.length;
    const answer = await target.submit('b', { requestKey: 'another commit' });
    expect(answer.disposition).toBe('rejected');
    expect(answer.reason).toMatch(/^the artifact is in quarantine since .*, put there by bo: a reason$/);
    expect(target.world.calls).toHaveLength(calls);
    await target.handle.executeUpdate('unquarantine', { args: [{ ...BO, artifact }] });
    expect(await target.release('b', { requestKey: 'once more' })).toMatchObject({ outcome: 'released' });
  });

  it('its revisions are not restored automatically', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b');
    await target.signal('quarantine', { ...BO, artifact: identity('b') });
    await target.viewOnce(({ state }) => state.quarantined.length > 0);
    target.world.bad.add(identity('c'));
    const result = await target.release('c');
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('starts automatically if an artifact has failed its checks twice', async () => {
    const { target } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    await target.release('b');
    expect((await target.idle()).state.quarantined).toEqual([]);
    await target.release('b');
    const { state } = await target.idle();
    expect(state.quarantined).toMatchObject([
      {
        artifact: identity('b'),
        by: { who: 'slipway', reason: 'failed its checks 2 times: release-1, release-2' },
      },
    ]);
    expect(await target.submit('b')).toMatchObject({ disposition: 'rejected' });
  });

  it('does not start automatically for an image’s tag, which may be another image the next time', async () => {
    const { target } = harness.newServingTarget();
    const artifact = { kind: 'image', uri: 'registry.test/agent:latest' } as const;
    target.world.bad.add(`image:${artifact.uri}`);
    const first = await target.release('b', { artifact });
    expect(first).toMatchObject({ outcome: 'rolled_back', artifactMayChange: true });
    await target.release('c', { artifact });
    expect((await target.idle()).state.quarantined).toEqual([]);
  });

  it('that is only a revision left by a rollback can be ended too: the revision is restorable again', async () => {
    const [target, , revisionId] = await harness.newReleasedTarget('x', 'b');
    const { requestId } = await target.rollback(BO);
    await target.ended(requestId);
    await target.signal('unquarantine', { ...BO, artifact: identity('b') });
    await target.signal('unquarantine', { ...BO, artifact: identity('b') });
    const { state } = await target.viewOnce(({ state: { ignored } }) => ignored.length > 0);
    expect(state.known.find((known) => known.revisionId === revisionId)).not.toHaveProperty('quarantined');
    expect(state.ignored).toHaveLength(1);
  });

  it('rejects waiting releases of the artifact', async () => {
    const { target } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('uploadArtifact', target, 'b', { queue: 'all' });
    const waiting = await target.submit('c', { queue: 'all' });
    const other = await target.submit('d', { queue: 'all' });
    await target.signal('quarantine', { ...BO, artifact: identity('c') });
    expect(await target.ended(waiting.releaseId)).toMatchObject({
      outcome: 'rejected',
      reason: 'rejected by a quarantine, by bo: a reason',
    });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
    expect(await target.result(other.releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('of a running release’s artifact applies to its revision, which is not restored automatically', async () => {
    const { target, good } = harness.newServingTarget();
    const { releaseId, gate } = await heldIn('runCheck', target);
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('b') }] });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
    target.world.bad.add(identity('c'));
    expect(await target.release('c')).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('of what serves reaches a release that is only just starting', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    const { releaseId } = await target.submit('c');
    await target.signal('quarantine', { ...BO, artifact: identity('b') });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('of what serves that ends while a release runs does not keep that release from restoring it', async () => {
    const [target, , serving] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('b') }] });
    const { releaseId, gate } = await heldIn('runCheck', target, 'c');
    await target.handle.executeUpdate('unquarantine', { args: [{ ...BO, artifact: identity('b') }] });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ servingRevisionId: serving });
  });

  it.each([
    ['goes on to the one before it, if the target chose it', undefined, 0],
    ['stays, if a person named it', 1, 1],
  ])('of what a rollback restores meanwhile %s', async (_, named, restored) => {
    const [target, ...revisions] = await harness.newReleasedTarget('x', 'a', 'b');
    const { gate, requestId } = await restoring(target, named === undefined ? undefined : revisions[named]);
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('a') }] });
    gate.open();
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'rolled_back', servingRevisionId: revisions[restored] });
    expect(row.code).toBeUndefined();
    expect(target.world.active).toBe(revisions[restored]);
  });

  it.each([
    ['passes', 'rolled_back'],
    ['fails', 'errored'],
  ])(
    'of what a rollback restores meanwhile leaves it in place if there is no other verified one: it %s its checks',
    async (how, outcome) => {
      const [target, only] = await harness.newReleasedTarget('a', 'b');
      if (how === 'fails') target.world.bad.add(identity('a'));
      const { gate, requestId } = await restoring(target);
      await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('a') }] });
      gate.open();
      expect(await target.ended(requestId)).toMatchObject({ outcome, servingRevisionId: only });
    },
  );

  it('of what a rollback restores meanwhile goes on to the one before it, too, if it fails its checks', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'a', 'b');
    target.world.bad.add(identity('a'));
    const { gate, requestId } = await restoring(target);
    await target.handle.executeUpdate('quarantine', { args: [{ ...BO, artifact: identity('a') }] });
    gate.open();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.active).toBe(good);
  });

  it('that an earlier run of the target had no time to report reaches the release that runs', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    const { releaseId, gate } = await heldIn('runCheck', target, 'c');
    target.world.next('recallTarget', async (perform) => {
      const left = (await perform()) as { readonly state: TargetState };
      return { ...left, state: quarantineArtifact(left.state, identity('b'), ADA, NOW) };
    });
    await target.reset('last');
    const release = target.child(releaseId);
    await seen(release, async () => {
      const { events } = await release.fetchHistory();
      return events?.some((event) => event.workflowExecutionSignaledEventAttributes != null) === true
        ? true
        : undefined;
    });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ servingRevisionId: good });
    expect((await target.idle()).state.ignored).toEqual([]);
  });

  it('and its end reach the release that runs in this order, if the target handles both in one workflow task', async () => {
    const [target, , serving] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    const { releaseId, gate } = await heldIn('runCheck', target, 'c');
    const goOn = await resetHoldingRecall(target, 'last');
    for (const name of ['quarantine', 'unquarantine'])
      await target.signal(name, { ...BO, artifact: identity('b') });
    goOn();
    await target.viewOnce(({ state: { said } }) => said.length === 2);
    const order = () =>
      seen(target.handle, async () => {
        const { events } = await target.handle.fetchHistory();
        const all = (events ?? []).flatMap((event) => {
          if (event.signalExternalWorkflowExecutionInitiatedEventAttributes != null) return ['sent'];
          return event.externalWorkflowExecutionSignaledEventAttributes != null ? ['delivered'] : [];
        });
        return all.length === 4 ? all : undefined;
      });
    expect(await order()).toEqual(['sent', 'delivered', 'sent', 'delivered']);
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({ servingRevisionId: serving });
  });

  it.each([
    ['is not restored by it', ['quarantine'], 'x'],
    ['is restored by it if the quarantine has ended', ['quarantine', 'unquarantine'], 'b'],
  ])('of what served before a running release %s', async (_, said, restored) => {
    const [target, ...revisions] = await harness.newReleasedTarget('x', 'b');
    target.world.bad.add(identity('c'));
    const { releaseId, gate } = await heldIn('runCheck', target, 'c');
    for (const each of said)
      await target.handle.executeUpdate(each, { args: [{ ...BO, artifact: identity('b') }] });
    gate.open();
    expect(await target.result(releaseId)).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: revisions[restored === 'x' ? 0 : 1],
    });
  });
});

/** Asks for a rollback, and waits until it waits for the revision that it redeploys. */
async function restoring(target: TargetUnderTest, to?: string) {
  const gate = target.world.gate('awaitDeployed');
  const before = target.world.count('awaitDeployed');
  const { requestId } = await target.rollback({ ...BO, to });
  await target.world.called('awaitDeployed', before + 1);
  return { gate, requestId };
}
