import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { refused } from '../faults.ts';
import { identity, stepNames } from '../requests.ts';
import type { Fault } from '../world.ts';

describeWorkflows('a manual rollback on an idle target', (harness) => {
  it('without a name goes back to the verified revision before the active one', async () => {
    const { target, good } = harness.newServingTarget();
    const bad = await target.release('b');
    expect(bad.outcome).toBe('released');
    const { requestId, disposition } = await target.rollback({ reason: 'errors' });
    expect(disposition).toBe('queued');
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ kind: 'rollback', outcome: 'rolled_back', servingRevisionId: good });
    const result = await target.result(row.releaseId);
    expect(stepNames(result)).toEqual([
      'restore find done',
      'restore redeploy done',
      'restore deployed done',
      'restore serving done',
      'restore check done',
      'record done',
    ]);
    expect(target.world.active).toBe(good);
    const { state } = await target.idle();
    expect(state.hold).toMatchObject({ by: { reason: 'errors' } });
    expect(state.activeRevisionId).toBe(good);
  });

  it('supersedes a release that was asked for while it ran, to replace what it left', async () => {
    const { target, good } = harness.newServingTarget();
    const { revisionId } = await target.release('b');
    const gate = target.world.gate('redeployRevision');
    const { requestId } = await target.rollback({ hold: false });
    await target.world.called('redeployRevision');
    const { releaseId } = await target.submit('c', { replaces: revisionId });
    gate.open();
    expect(await target.ended(requestId)).toMatchObject({ servingRevisionId: good });
    const row = await target.ended(releaseId);
    expect(row).toMatchObject({ outcome: 'superseded' });
    expect(row.reason).toContain(`asked for while revision ${revisionId ?? ''} served`);
  });

  it('looks for the deployment with the retries of a restore', async () => {
    const { target } = harness.newServingTarget();
    const pass: Fault = (perform) => perform();
    target.world.next('findDeployment', pass);
    const { releaseId } = await target.release('b');
    // The target reads it, too.
    target.world.next('findDeployment', pass, pass);
    const row = await target.ended((await target.rollback()).requestId);
    const patience = async (id: string): Promise<number> => {
      const { events } = await target.child(id).fetchHistory();
      const [find] = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
      expect(find?.activityType?.name).toBe('findDeployment');
      const { seconds, nanos } = find?.scheduleToCloseTimeout ?? {};
      return Math.round(Number(seconds) + Number(nanos) / 1_000_000_000);
    };
    expect(await patience(row.releaseId)).toBe(2 * (await patience(releaseId)));
  });

  it('by name goes back to that revision, and the one it left is restored only by name', async () => {
    const [target, good, second, third] = await harness.newReleasedTarget('x', 'b', 'c');
    const back = await target.rollback({ to: good });
    expect(await target.ended(back.requestId)).toMatchObject({ servingRevisionId: good });
    const { state } = await target.idle();
    expect(state.known).toMatchObject([
      { revisionId: good, verified: true },
      { revisionId: second, verified: true },
      { revisionId: third, verified: true, quarantined: true },
    ]);
    // The oldest no longer works either: the one in between is restored, not the one that was rolled back from.
    target.world.broken.set(good, 'DEPLOY_FAILED');
    target.world.bad.add(identity('d'));
    const failed = await target.release('d', { overrideHold: true });
    expect(failed).toMatchObject({ outcome: 'rolled_back', servingRevisionId: second });
    const forward = await target.rollback({ to: third });
    expect(await target.ended(forward.requestId)).toMatchObject({ servingRevisionId: third });
    expect((await target.idle()).state.known.find(({ revisionId }) => revisionId === third)).toEqual(
      expect.not.objectContaining({ quarantined: true }),
    );
  });

  it('without a name goes back to what the release replaced, not to one that a person went back past', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b', 'c');
    await target.ended((await target.rollback({ to: good })).requestId);
    await target.release('d', { overrideHold: true });
    expect(await target.rollback()).toMatchObject({ serves: { revisionId: good } });
    expect((await target.idle()).state.activeRevisionId).toBe(good);
    const { releaseId } = await target.submit('e', { overrideHold: true, soakMs: 3_600_000 });
    await target.progressOnce(releaseId, ({ steps }) => steps.at(-1)?.step === 'soak');
    expect(await target.rollback()).toMatchObject({ serves: { revisionId: good } });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('without an earlier revision ends failed and changes nothing', async () => {
    const [target, first] = await harness.newReleasedTarget('a');
    const { requestId } = await target.rollback();
    const row = await target.ended(requestId);
    expect(row).toMatchObject({ outcome: 'failed', servingRevisionId: first });
    expect(row.reason).toContain('no earlier verified revision is known');
    await target.release('b');
    const again = await target.ended((await target.rollback()).requestId);
    expect(again).toMatchObject({ outcome: 'failed' });
    expect(again.reason).toContain(`so it is restored only by name: --to ${first}`);
    expect(target.world.redeployed).toEqual([]);
  });

  it('while another rollback runs, to another revision runs next, without a name joins it', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'b', 'c');
    const gate = target.world.gate('redeployRevision');
    const first = await target.rollback({ to: good });
    await target.world.called('redeployRevision');
    expect(await target.rollback()).toMatchObject({ disposition: 'joined', requestId: first.requestId });
    expect(await target.rollback({ to: good })).toMatchObject({
      disposition: 'joined',
      requestId: first.requestId,
    });
    const next = await target.rollback({ to: second });
    gate.open();
    expect(await target.ended(first.requestId)).toMatchObject({ servingRevisionId: good });
    expect(await target.ended(next.requestId)).toMatchObject({ servingRevisionId: second });
    expect(target.world.redeployed).toEqual([good, second]);
  });

  it('whose revision cannot be deployed continues with an earlier one', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'b', 'c');
    target.world.broken.set(second, 'DEPLOY_FAILED');
    const { requestId } = await target.rollback();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
    expect(target.world.redeployed).toEqual([second, second, good]);
  });

  it('that cannot restore anything ends rollback_failed with instructions, and does not claim that anything serves', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'b');
    target.world.broken.set(good, 'DEPLOY_FAILED');
    const { requestId } = await target.rollback();
    const row = await target.ended(requestId);
    const result = await target.result(row.releaseId);
    expect(result).toMatchObject({
      outcome: 'rollback_failed',
      servingRevisionId: second,
      servingVerified: true,
    });
    expect(result.instructions).toContain('curl -X POST');
    expect((await target.view()).state.needsPerson?.releaseId).toBe(row.releaseId);
    target.world.broken.clear();
    const again = await target.rollback({ to: good });
    expect(await target.ended(again.requestId)).toMatchObject({ outcome: 'rolled_back' });
    expect((await target.view()).state.needsPerson).toBeNull();
  });

  it('to a named revision that fails does not tell the person to restore what they leave', async () => {
    const [target, good, second] = await harness.newReleasedTarget('x', 'b');
    target.world.broken.set(good, 'DEPLOY_FAILED');
    const row = await target.ended((await target.rollback({ to: good })).requestId);
    expect(row).toMatchObject({ outcome: 'rollback_failed', servingRevisionId: second });
    const { instructions } = await target.result(row.releaseId);
    expect(instructions).toContain(`Restore revision ${good}, which failed before`);
  });

  it('that cannot even read the deployment ends rollback_failed, Failed in Temporal, and the next release does not join', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b');
    target.world.next('findDeployment', refused('SLIPWAY_UNAUTHORIZED', 401));
    const { requestId } = await target.rollback({ to: good });
    const row = await target.ended(requestId);
    const result = await target.result(row.releaseId);
    const { instructions } = result;
    expect(row).toMatchObject({ outcome: 'rollback_failed', reason: result.reason });
    expect(instructions).toContain('The worker has no key that the control plane takes');
    expect(instructions).toContain('deployments?name_contains=agent');
    const { state } = await target.view();
    expect(state).toMatchObject({ activeRevisionId: null, needsPerson: { instructions } });
    const ended = target.child(row.releaseId);
    await expect(ended.result()).rejects.toMatchObject({ cause: { details: [result] } });
    expect((await ended.describe()).status.name).toBe('FAILED');
    const again = await target.submit('b', { overrideHold: true });
    expect(again.disposition).toBe('queued');
    expect((await target.result(again.releaseId)).outcome).toBe('released');
  });

  it('is not interrupted by a cancellation', async () => {
    const [target, good] = await harness.newReleasedTarget('x', 'b');
    const gate = target.world.gate('redeployRevision');
    const { requestId } = await target.rollback();
    await target.world.called('redeployRevision');
    const { running } = await target.view();
    await target.child(running?.releaseId ?? '').cancel();
    gate.open();
    expect(await target.ended(requestId)).toMatchObject({ outcome: 'rolled_back', servingRevisionId: good });
  });

  it('on a target that never took a release is rejected by update and ignored by signal', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    await expect(target.rollback()).rejects.toThrow();
    await target.signal('rollback');
    const { state } = await target.viewOnce((view) => view.state.ignored.length === 1);
    expect(state.ignored[0]?.reason).toContain('never taken a release');
    expect(state.hold).toBeNull();
  });
});
