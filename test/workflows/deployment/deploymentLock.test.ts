import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { triedIn } from '../recordedHistory.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

describeWorkflows('the lock of a deployment', (harness) => {
  /** Two targets that reach one deployment under two addresses. The first has released. */
  const two = async (): Promise<{ first: TargetUnderTest; second: TargetUnderTest }> => {
    const first = harness.newTarget();
    await first.release('a');
    return { first, second: harness.newTargetIn(first.world, {}, ':8080') };
  };

  it('rejects a second target, and names the owner', async () => {
    const { first, second } = await two();
    const serving = first.world.active;
    const refused = await second.release('b');
    expect(refused).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_DEPLOYMENT_OWNED' });
    expect(refused.reason).toContain(`belongs to the target "production" (${first.workflowId})`);
    expect(refused.reason).toContain('this release changed nothing that served');
    expect(first.world.active).toBe(serving);
    expect(first.world.count('uploadArtifact')).toBe(1);
    expect(await second.ended((await second.rollback()).requestId)).toMatchObject({
      outcome: 'failed',
      code: 'SLIPWAY_DEPLOYMENT_OWNED',
    });
    expect(await first.release('c')).toMatchObject({ outcome: 'released' });
  });

  it('goes to another target after its owner has ended, and not back to it', async () => {
    const { first, second } = await two();
    await first.handle.terminate('by hand');
    expect(await second.release('b')).toMatchObject({ outcome: 'released' });
    expect(await first.release('c')).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_DEPLOYMENT_OWNED' });
  });

  it('stays with an owner that lives after a person has terminated it', async () => {
    const { first, second } = await two();
    await first.workflow(`deployment:${first.world.deployment?.id}`).terminate('by hand');
    expect(await second.release('b')).toMatchObject({ outcome: 'failed', code: 'SLIPWAY_DEPLOYMENT_OWNED' });
    expect(await first.release('c')).toMatchObject({ outcome: 'released' });
  });

  it('stays with an ended owner while a release of it still restores', async () => {
    const { first, second } = await two();
    const polls = first.world.count('awaitDeployed');
    const gate = first.world.gate('redeployRevision');
    first.world.slow.add(identity('b'));
    await first.submit('b');
    await first.world.called('awaitDeployed', polls + 1);
    await first.handle.terminate('by hand');
    await first.world.called('redeployRevision');
    expect(await second.release('c')).toMatchObject({ code: 'SLIPWAY_DEPLOYMENT_OWNED' });
    gate.open();
    await first.child('release-2').result();
    expect(await second.release('d')).toMatchObject({ outcome: 'released' });
  });

  it('creates no work for workers', async () => {
    const owner = harness.newTarget();
    await owner.release('a');
    const [lock] = await owner.lockHistories();
    expect(lock?.history.events).toHaveLength(1);
  });

  it('is claimed once by a target for all of its releases', async () => {
    const first = harness.newTarget();
    for (const artifact of ['a', 'b']) await first.release(artifact);
    const tried = (await first.histories()).flatMap(({ history }) => (history.events ?? []).map(triedIn));
    expect(tried.filter((name) => name === 'claimDeployment')).toHaveLength(1);
  });
});
