import { expect, it } from 'vitest';

import { readTargetFacts } from '../../../src/temporal/history/readFacts.ts';
import { describeWorkflows } from '../describeWorkflows.ts';
import { identity } from '../requests.ts';

const BO = { who: 'bo', reason: 'a reason' };

describeWorkflows('a submission', (harness) => {
  it('that is withdrawn before it arrives is answered so, and is never released', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    await target.signal('withdraw', { submission: 'one', ...BO });
    await target.viewOnce(({ state }) => state.submissions.length === 1);
    const answer = await target.submit('b', {}, 'one');
    expect(answer).toMatchObject({ disposition: 'rejected' });
    expect(answer.reason).toContain('withdrawn before it arrived, by bo: a reason');
    expect(await target.ended(answer.releaseId)).toMatchObject({ outcome: 'aborted' });
    expect((await target.release('b')).outcome).toBe('released');
    const { submissions } = readTargetFacts(target.workflowId, await target.histories());
    expect(submissions).toMatchObject([
      { id: 'one', answer, withdrawnAt: expect.any(Number) as number },
      { answer: { disposition: 'queued' }, withdrawnAt: null },
    ]);
  });

  it('that is withdrawn while its release runs stops it, and its change is undone', async () => {
    const { target, good } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    const { releaseId } = await target.submit('b', {}, 'one');
    await target.world.called('awaitDeployed');
    await target.signal('withdraw', { submission: 'one', ...BO });
    const result = await target.result(releaseId);
    expect(result).toMatchObject({ outcome: 'aborted' });
    expect(result.reason).toContain('aborted by bo: a reason');
    expect(target.world.active).toBe(good);
  });

  it('that is withdrawn at the moment of its arrival is stopped before it changes anything', async () => {
    const { target } = harness.newServingTarget();
    await target.startOnly();
    const submitted = target.submit('b', {}, 'one');
    await target.signal('withdraw', { submission: 'one', ...BO });
    const { releaseId } = await submitted;
    expect(await target.ended(releaseId)).toMatchObject({ outcome: 'aborted' });
    expect(target.world.count('patchDeployment')).toBe(0);
  });

  it('that is sent again while its release is stopped for the withdrawal is released after it', async () => {
    const { target } = harness.newServingTarget();
    const gate = target.world.gate('patchDeployment');
    const first = await target.submit('b', {}, 'one');
    await target.world.called('patchDeployment');
    await target.signal('withdraw', { submission: 'one', ...BO });
    await target.viewOnce(({ state }) => state.said.length === 1);
    const again = await target.submit('b', {}, 'two');
    expect(again).toMatchObject({ disposition: 'queued' });
    gate.open();
    expect(await target.result(first.releaseId)).toMatchObject({ outcome: 'aborted' });
    expect(await target.result(again.releaseId)).toMatchObject({ outcome: 'released' });
  });

  it('that another one has joined leaves the release to that one, until it is withdrawn, too', async () => {
    const { target } = harness.newServingTarget();
    target.world.slow.add(identity('b'));
    const { releaseId } = await target.submit('b', {}, 'one');
    expect(await target.submit('b', {}, 'two')).toMatchObject({ releaseId, disposition: 'joined' });
    await target.world.called('awaitDeployed');
    await target.signal('withdraw', { submission: 'one', ...BO });
    const { state } = await target.viewOnce((view) => view.state.said.length === 1);
    expect(state.said[0]?.note).toContain('another submission');
    expect((await target.child(releaseId).describe()).status.name).toBe('RUNNING');
    await target.signal('withdraw', { submission: 'two', ...BO });
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'aborted' });
  });
});
