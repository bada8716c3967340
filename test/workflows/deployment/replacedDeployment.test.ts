import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows('a deployment that a person deleted', (harness) => {
  const deleted = async (): Promise<TargetUnderTest> => {
    const target = harness.newTarget();
    await target.release('a');
    await target.release('b');
    target.world.controlPlane.deployments.splice(0);
    return target;
  };

  it('is made again without the revisions of the first: none of them is restored', async () => {
    const target = await deleted();
    const { world } = target;
    world.broken.set(identity('c'), 'BUILD_FAILED');
    expect(await target.release('c')).toMatchObject({ outcome: 'failed', servingRevisionId: null });
    const { revisionId } = await target.release('d');
    const row = await target.ended((await target.rollback()).requestId);
    expect(row).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE' });
    expect(row.servingRevisionId).toBe(revisionId);
    expect(world.count('redeployRevision')).toBe(0);
    const { state } = await target.idle();
    expect(state.known.map((known) => known.revisionId)).toEqual([revisionId]);
  });

  it('and a release made again, rejects a rollback to an earlier release before anything is held', async () => {
    const target = await deleted();
    const { releaseId } = await target.release('c');
    const rollback = target.rollback({ to: 'release-1' });
    const refused: unknown = await rollback.catch((error: unknown) => (error as Error).cause);
    const { message } = refused as Error;
    expect(message).toContain('another deployment has replaced the one with "release-1"; verified are: ');
    expect(message).toContain(releaseId);
    expect((await target.idle()).state).toMatchObject({ hold: null, rollbacks: [] });
  });

  it('and another tool made again, has nothing to go back to', async () => {
    const target = await deleted();
    const active = target.world.madeElsewhere('agent');
    const row = await target.ended((await target.rollback({ serving: active })).requestId);
    expect(row).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_NOTHING_TO_RESTORE' });
    expect(target.world.count('redeployRevision')).toBe(0);
  });
});
