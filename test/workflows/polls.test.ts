import { afterAll, describe, expect, it } from 'vitest';

import { describeWorkflows } from './describeWorkflows.ts';
import { useHarness } from './projectHarness.ts';
import { identity, QUICK } from './requests.ts';

const SLOTS = 2;

describe('a worker whose slots are all occupied by waits', () => {
  const harness = useHarness({ slots: SLOTS });

  afterAll(async () => {
    for (const target of harness.targets) await target.terminate();
  });

  it('rolls another target back, and sends one more PATCH, while all of them still wait', async () => {
    const { target: leftBad, good } = harness.newServingTarget();
    await leftBad.release('b');
    const waiting = Array.from({ length: SLOTS + 2 }, () => harness.newTarget());
    const gates = waiting.map(({ world }) => world.gate('awaitDeployed'));
    for (const target of waiting) await target.submit('a');
    await Promise.race(waiting.map(({ world }) => world.called('awaitDeployed')));
    await Promise.all(waiting.map(({ world }) => world.called('patchDeployment')));

    const { requestId } = await leftBad.rollback({ reason: 'errors' });
    expect(await leftBad.ended(requestId)).toMatchObject({
      outcome: 'rolled_back',
      servingRevisionId: good,
    });
    const another = harness.newTarget();
    await another.submit('a');
    await another.world.called('patchDeployment');
    const stillWaiting = waiting.filter(({ world }) => world.active === null);
    expect(stillWaiting).toHaveLength(waiting.length);

    for (const gate of gates) gate.open();
    for (const target of [...waiting, another]) {
      expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
    }
  });

  it('releases on another target while receivers of notices do not answer', async () => {
    const notify = ['ops', 'audit', 'pager'].map((name) => ({
      kind: 'slack' as const,
      name,
      url: { from: 'env:SLACK_URL' as const },
    }));
    const loud = harness.newTarget();
    const gates = notify.map(() => loud.world.gate('sendNotice'));
    await loud.submit('a', { notify });
    await loud.world.called('sendNotice', SLOTS);
    const quiet = harness.newTarget();
    await quiet.submit('a');
    await quiet.world.called('patchDeployment');
    expect(loud.world.noticed).toEqual([]);
    for (const gate of gates) gate.open();
    for (const target of [loud, quiet]) {
      expect(await target.result('release-1')).toMatchObject({ outcome: 'released' });
    }
  });
});

describeWorkflows('a poll that frees its slot', (harness) => {
  it('continues until its deadline, although its step has few attempts', async () => {
    const ATTEMPTS = 2;
    const target = harness.newTarget();
    target.world.slow.add(identity('a'));
    const deployed = { ...QUICK.deployed, retry: { ...QUICK.deployed?.retry, maximumAttempts: ATTEMPTS } };
    const { releaseId } = await target.submit('a', { steps: { ...QUICK, deployed } });
    await target.world.called('awaitDeployed', ATTEMPTS + 1);
    target.world.bringUp(target.world.deployment?.revisions.at(-1)?.id ?? '');
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released' });
  });
});
