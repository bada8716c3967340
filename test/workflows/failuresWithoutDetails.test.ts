import { ApplicationFailure, CancelledFailure } from '@temporalio/activity';
import { expect, it } from 'vitest';

import { describeWorkflows } from './describeWorkflows.ts';
import { QUICK } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import type { Fault } from './world.ts';
import { Gate } from './waits.ts';

/** The call takes effect; then its attempt fails without any details. */
const takenThen =
  (failure: () => Error): Fault =>
  async (perform) => {
    await perform();
    throw failure();
  };

const FAILURES: readonly (readonly [string, () => Error])[] = [
  ['a failure of somebody’s own', () => ApplicationFailure.create({ message: 'failed by hand' })],
  ['a worker’s shutdown', () => ApplicationFailure.create({ message: 'shutdown', type: 'WorkerShutdown' })],
  ['a cancellation', () => new CancelledFailure('WORKER_SHUTDOWN')],
  ['a reset', () => ApplicationFailure.create({ message: 'Activity reset', type: 'ActivityReset' })],
  [
    'details of somebody’s own',
    () => ApplicationFailure.create({ message: 'failed by hand', details: [{ code: 'mine' }] }),
  ],
];

/** A worker learns of a reset at its next heartbeat, at most this much later. */
const HEARS_OF_A_RESET = { ...QUICK, patch: { ...QUICK.patch, heartbeatMs: 5_000 } };

/** What people can do to a running attempt with Temporal's own tools. */
const BY_HAND: readonly (readonly [string, (target: TargetUnderTest, releaseId: string) => Promise<void>])[] =
  [
    ['temporal activity fail', (target, releaseId) => target.failActivity(releaseId, 'patchDeployment')],
    ['temporal activity reset', (target, releaseId) => target.resetActivity(releaseId, 'patchDeployment')],
  ];

describeWorkflows('a PATCH whose failure does not say whether it was taken', (harness) => {
  it.each(FAILURES)('because of %s is looked for before it is sent again', async (_, failure) => {
    const { target } = harness.newServingTarget();
    target.world.next('patchDeployment', takenThen(failure));
    expect(await target.release('b')).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
    expect(target.world.count('patchDeployment')).toBe(1);
  });
});

describeWorkflows('a PATCH that is disturbed by Temporal’s own tools', (harness) => {
  it.each(BY_HAND)('because of "%s" is looked for before it is sent again', async (_, interfere) => {
    const { target, world } = harness.newServingTarget();
    const gate = new Gate();
    const taken = new Promise<void>((resolve) => {
      world.next('patchDeployment', async (perform) => {
        const answer = await perform();
        resolve();
        await gate.passed();
        return answer;
      });
    });
    const { releaseId } = await target.submit('b', { steps: HEARS_OF_A_RESET });
    await taken;
    await interfere(target, releaseId);
    expect(await target.result(releaseId)).toMatchObject({ outcome: 'released', extraRevisionIds: [] });
    expect(world.count('patchDeployment')).toBe(1);
  });
});
