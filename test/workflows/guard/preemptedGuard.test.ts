import { expect, it } from 'vitest';

import { guardWorkflowId } from '../../../src/domain/guard/guardPolicy.ts';
import { EMPTY_TARGET } from '../../../src/domain/target/targetState.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { heldIn } from '../moments.ts';
import { GREETS, identity } from '../requests.ts';

const HOUR_MS = 3_600_000;

describeWorkflows('a preempted guard that no worker has run since', (harness) => {
  /** The release that preempted the guard restores what it guarded, and waits at the end. */
  const restored = async () => {
    const { target, good, world } = harness.newServingTarget();
    const [releaseId, since] = ['release-0', Date.now()];
    const { target: spec, recordStore } = target.request('c');
    const policy = {
      forMs: HOUR_MS,
      everyMs: HOUR_MS,
      afterMs: HOUR_MS,
      noData: 'continue',
      metrics: [],
    } as const;
    const deploymentId = world.deployment?.id ?? '';
    const guarded = { target: spec, recordStore, deploymentId, policy, since, releasedFrom: since };
    const workflowId = guardWorkflowId(target.workflowId, releaseId);
    const until = since + HOUR_MS;
    const guard = await harness.client.workflow.start('guard', {
      workflowId,
      taskQueue: `no workers for ${workflowId}`,
      args: [{ ...guarded, revisionId: good, until, releaseId, targetId: target.workflowId }],
    });
    const at = new Date(since).toISOString();
    const known = [{ revisionId: good, verified: true, checks: world.keep([GREETS]), at }];
    const guarding = { workflowId, releaseId, revisionId: good, until: new Date(until).toISOString() };
    const state = { ...EMPTY_TARGET, known, activeRevisionId: good, guard: guarding, guarded };
    target.startWith({ state });
    world.bad.add(identity('c'));
    const { releaseId: failing, gate } = await heldIn('recordRelease', target, 'c');
    await target.viewOnce(({ state }) => state.guard?.ended?.verdict === 'preempted');
    const end = async (): Promise<void> => {
      gate.open();
      expect(await target.ended(failing)).toMatchObject({ servingRevisionId: good });
    };
    const report = { releaseId, since, at, note: '' };
    return { target, guard, report, end };
  };

  it('does not begin again if a person has canceled it meanwhile, and its report comes late', async () => {
    const { target, report, end } = await restored();
    await end();
    await target.signal('guardEnded', { ...report, verdict: 'canceled' });
    await target.release('d');
    expect((await target.view()).state.guard?.ended?.verdict).toBe('canceled');
  });

  it('does not begin again if a person has terminated it meanwhile', async () => {
    const { target, guard, end } = await restored();
    await guard.terminate('by hand');
    await end();
    const { state } = await target.viewOnce(({ state }) => state.guard?.ended?.verdict !== 'preempted');
    expect(state.guard?.ended).toMatchObject({ verdict: 'unknown' });
  });

  it('begins again otherwise', async () => {
    const { target, guard, end } = await restored();
    await end();
    const { state } = await target.viewOnce(({ state }) => state.guard?.ended?.verdict !== 'preempted');
    expect(state.guard?.ended).toBeUndefined();
    const { runId } = await guard.describe();
    expect(runId).not.toBe(guard.firstExecutionRunId);
  });
});
