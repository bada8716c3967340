import { expect, it } from 'vitest';

import type { ReleaseRequest } from '../../../src/domain/release/release.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { refused } from '../faults.ts';
import { identity, QUICK } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const WRONG_KEY = { from: 'env:MISTYPED' };
const WRONG_URL = 'http://mistyped.test';
/** Stops waiting early for an agent that does not answer. */
const SOON = { ...QUICK, serving: { ...QUICK.serving, scheduleToCloseMs: 3_000 } };

describeWorkflows('the settings of a target in a restore', (harness) => {
  it('are the last that worked: a mistyped key does not reach a later rollback', async () => {
    const [target, good] = await harness.newReleasedTarget('a', 'b');
    target.world.refusedKeys.add(WRONG_KEY.from);
    expect(await target.release(withTarget(target, 'c', { apiKey: WRONG_KEY }))).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_UNAUTHORIZED',
    });
    const { requestId } = await target.rollback();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('also find a revision that another tool deployed, which a rollback names after a mistyped key', async () => {
    const { target } = harness.newServingTarget();
    const elsewhere = target.world.patchElsewhere('elsewhere');
    target.world.end(elsewhere, 'DEPLOYED');
    await target.release('a');
    target.world.refusedKeys.add(WRONG_KEY.from);
    await target.release(withTarget(target, 'b', { apiKey: WRONG_KEY }));
    const { requestId } = await target.rollback({ to: elsewhere });
    expect(await target.ended(requestId)).toMatchObject({ servingRevisionId: elsewhere });
  });

  it('are the newest if the key that worked is rejected, and are kept from then on', async () => {
    const [target, good] = await harness.newReleasedTarget('a', 'b');
    const old = target.request('a').target.apiKey;
    target.world.refusedKeys.add(old.from);
    target.world.bad.add(identity('c'));
    const rotated = { from: 'env:ROTATED' };
    const result = await target.release(withTarget(target, 'c', { apiKey: rotated }));
    expect(result.outcome).toBe('rolled_back');
    expect(result.reason).toMatch(/ \(.*sha256:\w+\) serves again$/u);
    expect((await target.view()).state.lastGood?.apiKey).toEqual(rotated);
    const { requestId } = await target.rollback({ to: good });
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('are the newest if the control plane has left the address that worked', async () => {
    const [target, good] = await harness.newReleasedTarget('a', 'b');
    target.world.next('uploadArtifact', refused());
    await target.release(withTarget(target, 'c', { controlPlane: elsewhere(target) }));
    target.world.next('findDeployment', refused('SLIPWAY_CONFIG_INVALID', 308));
    const { requestId } = await target.rollback({ to: good });
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('have the address that the release to undo has just used', async () => {
    const [target, , serving] = await harness.newReleasedTarget('a', 'b');
    const asked = new Set<string>();
    const { world } = target;
    const call = world.call.bind(world);
    world.call = (activity, input) => {
      asked.add((input as { target?: { controlPlane: string } }).target?.controlPlane ?? 'none');
      return call(activity, input);
    };
    world.bad.add(identity('c'));
    const result = await target.release(withTarget(target, 'c', { controlPlane: elsewhere(target) }));
    expect(result).toMatchObject({ outcome: 'rolled_back', servingRevisionId: serving });
    expect([...asked].sort()).toEqual([elsewhere(target), 'none']);
  });

  it('a mistyped agentUrl lets the release fail, and leaves the earlier revision', async () => {
    const [target, , newer] = await harness.newReleasedTarget('a', 'b');
    target.world.deadAddresses.add(WRONG_URL);
    const result = await target.release({
      ...withTarget(target, 'c', { agentUrl: WRONG_URL }),
      steps: SOON,
    });
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: newer,
      servingVerified: true,
      baseline: { revisionId: newer, silent: expect.stringContaining('does not answer') as string },
    });
    expect(result.reason).toContain('did not answer under the settings of this release before');
    expect(target.world.redeployed).toEqual([newer]);
  });

  it('if no call to the agent works on either revision it stops there, even without settings that worked', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.deadAddresses.add(WRONG_URL);
    target.world.broken.set(identity('b'), 'BUILD_FAILED');
    const result = await target.release({ ...withTarget(target, 'b', { agentUrl: WRONG_URL }), steps: SOON });
    expect(result).toMatchObject({ outcome: 'errored', servingRevisionId: good, servingVerified: false });
    expect(result.reason).toContain('no call to its agent works');
    expect(target.world.redeployed).toEqual([good]);
    expect((await target.view()).state.known).toMatchObject([{ revisionId: good, verified: true }]);
  });

  it('that do not reach the serving agent stop no release, because it may fix that', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('askAgent', (perform, world) => {
      world.deadAddresses.clear();
      return perform();
    });
    target.world.deadAddresses.add(WRONG_URL);
    const result = await target.release(withTarget(target, 'b', { agentUrl: WRONG_URL }));
    expect(result).toMatchObject({ outcome: 'released' });
  });

  it('are not tried again on the serving revision after they have worked', async () => {
    const target = harness.newTarget();
    await target.release('a');
    await target.release('b');
    expect(target.world.count('askAgent')).toBe(0);
    await target.release(withTarget(target, 'c', { agentUrl: 'http://elsewhere.test' }));
    expect(target.world.count('askAgent')).toBe(1);
  });
});

/** Another address of the target's control plane. */
function elsewhere(target: TargetUnderTest): string {
  return `${target.request('any').target.controlPlane}:8080`;
}

function withTarget(
  target: TargetUnderTest,
  artifact: string,
  changes: Partial<ReleaseRequest['target']>,
): ReleaseRequest {
  const request = target.request(artifact);
  return { ...request, target: { ...request.target, ...changes } };
}
