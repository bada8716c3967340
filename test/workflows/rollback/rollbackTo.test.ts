import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn, waitingFor } from '../moments.ts';

describeWorkflows('a manual rollback to a named revision', (harness) => {
  it('that cannot be deployed reports that it was not reached, and what serves instead', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'a', 'b');
    target.world.broken.set(good, 'DEPLOY_FAILED');
    const { requestId } = await target.rollback({ to: good });
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'rolled_back', code: 'SLIPWAY_REVISION_NOT_REACHED' });
    expect(row.reason).toContain(`revision ${good} was not reached`);
    expect(row.servingRevisionId).toBe(second);
    expect((await target.idle()).state.hold).not.toBeNull();
  });

  it('that cannot be deployed reports it, too, if the one that serves instead fails its checks', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'a', 'b');
    target.world.broken.set(good, 'DEPLOY_FAILED');
    target.world.providerIsAway = true;
    const { requestId } = await target.rollback({ to: good });
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'errored', servingRevisionId: second });
    expect(row.reason).toContain(`revision ${good} was not reached`);
    expect(row.reason).toContain(`revision ${second} is restored and serves, but failed`);
  });

  it('while a release waits that recorded it as its baseline, which another tool has replaced: it is restored', async () => {
    const [target, good, revisionId] = await harness.newReleasedTarget('x', 'a');
    const approval = { required: 1, withinMs: 3_600_000 };
    await waitingFor('approval', target, 'b', { approval });
    target.world.bringUp(good);
    const { requestId, serves } = await target.rollback({ to: revisionId });
    expect(serves).toMatchObject({ revisionId });
    expect(await target.ended(requestId)).toMatchObject({ kind: 'rollback', servingRevisionId: revisionId });
    expect(target.world.active).toBe(revisionId);
  });

  it.each([
    ['is reached with it', true],
    ['fails if that one goes on to another, because it cannot be deployed', false],
  ])('while a rollback runs for which the target chose that one %s', async (_, isReached) => {
    const [target, good, second, bad] = await harness.newReleasedTarget('x', 'a', 'b');
    const gate = target.world.gate('redeployRevision');
    if (!isReached) target.world.broken.set(second, 'DEPLOY_FAILED');
    await target.rollback({ serving: bad });
    await target.world.called('redeployRevision');
    const { requestId } = await target.rollback({ to: second });
    gate.open();
    const row = await target.ended(requestId);
    expect(row.servingRevisionId).toBe(isReached ? second : good);
    expect(row.outcome).toBe(isReached ? 'rolled_back' : 'rollback_failed');
    expect((await target.idle()).state.history).toHaveLength(isReached ? 4 : 5);
  });

  it('by a prefix of its id, or by its release, is that revision', async () => {
    const { target } = harness.newServingTarget();
    const first = await target.release('a');
    const second = await target.release('b');
    const [prefix = ''] = (first.revisionId ?? '').split('-');
    const back = await target.rollback({ to: prefix });
    expect(back).toMatchObject({ disposition: 'queued', serves: { revisionId: first.revisionId } });
    expect((await target.ended(back.requestId)).servingRevisionId).toBe(first.revisionId);
    const forth = await target.rollback({ to: second.releaseId });
    expect((await target.ended(forth.requestId)).servingRevisionId).toBe(second.revisionId);
  });

  it('that is none, or one of several, is rejected before anything is held or stopped', async () => {
    const [target, , first] = await harness.newReleasedTarget('x', 'a');
    const { releaseId, gate } = await heldIn('uploadArtifact', target);
    const wrong = [
      ['a-slip-of-the-pen', 'no revision'],
      ['0000', 'several revisions'],
      ['release-9', 'no revision'],
      ['7b1f3c5e-0000-4000-8000-000000000000', 'no revision'],
    ] as const;
    for (const [to, because] of wrong) {
      const refused: unknown = await target
        .rollback({ to })
        .catch((error: unknown) => (error as Error).cause);
      expect(refused).toMatchObject({ message: expect.stringContaining(because) });
      if (to.length < 36) expect(refused).toMatchObject({ message: expect.stringContaining(first) });
      await target.signal('rollback', { to });
    }
    const { state } = await target.viewOnce((view) => view.state.ignored.length === wrong.length);
    expect(state.ignored).toMatchObject(
      wrong.map(([, because]) => ({
        message: 'rollback',
        reason: expect.stringContaining(because) as string,
      })),
    );
    expect(state.hold).toBeNull();
    gate.open();
    expect((await target.result(releaseId)).outcome).toBe('released');
  });

  it('that was made elsewhere is looked for before anything is held or stopped', async () => {
    const { target } = harness.newServingTarget();
    const elsewhere = target.world.patchElsewhere('elsewhere');
    target.world.end(elsewhere, 'DEPLOYED');
    await target.release('a');
    const gate = target.world.gate('readRevision');
    const asking = target.rollback({ to: elsewhere });
    await target.world.called('readRevision');
    expect((await target.view()).state).toMatchObject({ hold: null, rollbacks: [] });
    gate.open();
    const { requestId } = await asking;
    expect((await target.ended(requestId)).servingRevisionId).toBe(elsewhere);
  });
});
