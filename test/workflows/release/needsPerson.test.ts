import type { WorkflowHandle } from '@temporalio/client';
import { expect, it } from 'vitest';

import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { NO_REDEPLOY, notTaken, refused } from '../faults.ts';
import { polling } from '../moments.ts';
import { identity } from '../requests.ts';
import type { TargetUnderTest } from '../targetUnderTest.ts';

const STOP = { onError: { then: 'stop', waitMs: 0 } } as const;

describeWorkflows('a workflow that needs a person', (harness) => {
  it('ends Failed in Temporal, a release that is rollback_failed, with the whole result in its failure', async () => {
    const target = harness.newTarget();
    target.world.bad.add(identity('a'));
    const { releaseId } = await target.submit('a');
    const row = await target.ended(releaseId);
    const result = await target.result(releaseId);
    const { revisionId } = result;
    expect(result).toMatchObject({
      outcome: 'rollback_failed',
      servingRevisionId: revisionId,
      servingVerified: false,
    });
    expect(result.instructions).toMatch(/needs a person[^]*release a good artifact/u);
    expect(row).toMatchObject({ outcome: 'rollback_failed', reason: result.reason, code: result.code });
    expect((await target.view()).state.needsPerson).toMatchObject({ releaseId });
    expect(await failureOf(target.child(releaseId))).toMatchObject({
      type: 'rollback_failed',
      message: result.reason,
      nonRetryable: true,
      details: [result],
    });
    expect(await statusOf(target, releaseId)).toBe('FAILED');
    const query = 'ExecutionStatus="Failed" AND WorkflowType IN ("release", "rollback", "promotion")';
    expect(await target.listedOnce(query)).toEqual([`${target.workflowId}/${releaseId}`]);
    expect(await target.listedOnce('SlipwayOutcome="rollback_failed"')).toHaveLength(1);
    const { works } = readTargetFacts(target.workflowId, await target.histories());
    expect(works).toMatchObject([{ ended: 'failed', result }]);
  });

  it('ends Failed in Temporal, a release that is errored, and the next one is its own attempt', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('runCheck', notTaken(), notTaken());
    const result = await target.release('b', STOP);
    expect(result).toMatchObject({ outcome: 'errored', servingRevisionId: result.revisionId });
    expect(await failureOf(target.child(result.releaseId))).toMatchObject({ details: [result] });
    expect(await statusOf(target, result.releaseId)).toBe('FAILED');
    expect(await target.release('b')).toMatchObject({ releaseId: 'release-2', outcome: 'released' });
  });

  it('ends Failed in Temporal also if it was canceled there, because its change could not be undone', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('redeployRevision', ...NO_REDEPLOY);
    const releaseId = await polling(target);
    await target.child(releaseId).cancel();
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'rollback_failed' });
    expect(await statusOf(target, releaseId)).toBe('FAILED');
  });

  it('is the only one that ends Failed: a release that was rolled back, or changed nothing, ends Completed', async () => {
    const { target } = harness.newServingTarget();
    target.world.bad.add(identity('b'));
    const rolledBack = await target.release('b');
    target.world.next('uploadArtifact', refused());
    const failed = await target.release('c');
    expect([rolledBack.outcome, failed.outcome]).toEqual(['rolled_back', 'failed']);
    expect(await statusOf(target, rolledBack.releaseId)).toBe('COMPLETED');
    expect(await statusOf(target, failed.releaseId)).toBe('COMPLETED');
  });

  it('is known to a target that was terminated meanwhile, with its own message', async () => {
    const target = harness.newTarget();
    await target.release('a');
    target.world.next('redeployRevision', ...NO_REDEPLOY);
    target.world.slow.add(identity('b'));
    const { releaseId } = await target.submit('b');
    await target.world.called('awaitDeployed', 2);
    await target.handle.terminate('by hand');
    await target.startOnly();
    const row = await target.ended(releaseId);
    const result = await target.result(releaseId);
    expect(row).toMatchObject({ outcome: 'rollback_failed', reason: result.reason });
    expect(await statusOf(target, releaseId)).toBe('FAILED');
  });
});

async function failureOf(workflow: WorkflowHandle): Promise<unknown> {
  return workflow.result().catch((error: unknown) => (error as Error).cause);
}

async function statusOf(target: TargetUnderTest, releaseId: string): Promise<string> {
  return (await target.child(releaseId).describe()).status.name;
}
