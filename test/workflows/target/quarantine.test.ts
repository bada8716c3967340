import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import { identity } from '../requests.ts';

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
