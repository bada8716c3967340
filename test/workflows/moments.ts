import { expect } from 'vitest';

import type { ReleaseRequest, Waiting } from '../../src/domain/release/release.ts';
import { identity, QUICK } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import type { Fault } from './world.ts';
import type { ActivityName } from './worldActivities.ts';

/** Submits a release, and waits until it polls its revision, which stays `BUILDING`. */
export async function polling(target: TargetUnderTest, artifact = 'b'): Promise<string> {
  target.world.slow.add(identity(artifact));
  const before = target.world.count('awaitDeployed');
  const { releaseId } = await target.submit(artifact);
  await target.world.called('awaitDeployed', before + 1);
  return releaseId;
}

/** Submits a release, and waits until it calls an activity. The gate holds that call. */
export async function heldIn(
  activity: ActivityName,
  target: TargetUnderTest,
  artifact = 'b',
  changes: Partial<ReleaseRequest> = {},
) {
  const gate = target.world.gate(activity);
  const before = target.world.count(activity);
  const { releaseId } = await target.submit(artifact, changes);
  await target.world.called(activity, before + 1);
  return { releaseId, gate };
}

/** Submits a release, and waits until it waits for an approval, a decision or a freeze. */
export async function waitingFor(
  what: Waiting['for'],
  target: TargetUnderTest,
  artifact: string,
  changes: Partial<ReleaseRequest>,
): Promise<string> {
  const { releaseId } = await target.submit(artifact, changes);
  await target.progressOnce(releaseId, ({ waiting }) => waiting?.for === what);
  return releaseId;
}

/** Releases a revision that stays `BUILDING`, until the release has abandoned it. Returns the revision. */
export async function abandoned(target: TargetUnderTest, watchMs = 60_000, artifact = 'b'): Promise<string> {
  target.world.slow.add(identity(artifact));
  const steps = {
    ...QUICK,
    deployed: { ...QUICK.deployed, scheduleToCloseMs: 2_000 },
    watch: { ...QUICK.watch, scheduleToCloseMs: watchMs },
  };
  const { revisionId, outcome } = await target.release(artifact, { steps });
  expect(outcome).toBe('rolled_back');
  return revisionId ?? '';
}

export async function endAll(target: TargetUnderTest): Promise<void> {
  for (;;) {
    const { state, running } = await target.view();
    if (running === null && state.queue.length === 0 && state.rollbacks.length === 0) return;
    await target.signal('withdraw');
    await target.signal('abort');
    if (running !== null) await target.ended(running.releaseId);
  }
}

/** Resets a target, and holds its read of its earlier state until the returned function is called. */
export async function resetHoldingRecall(target: TargetUnderTest, to: 'first' | 'last'): Promise<() => void> {
  let goOn = (): void => undefined;
  const reading = new Promise<void>((resolve) => (goOn = resolve));
  const slowly: Fault = (perform) => reading.then(perform);
  // The try in the worker that runs the target, and the attempt after it.
  target.world.next('recallTarget', slowly, slowly);
  await target.reset(to);
  await target.viewOnce(({ recovering }) => recovering === true);
  return goOn;
}
