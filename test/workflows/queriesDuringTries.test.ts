import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, inject, it } from 'vitest';

import { readFailedTasks } from '../../src/temporal/history/readFacts.ts';
import { INTERVENTION_SIGNALS, INTERVENTION_UPDATES, progressQuery } from '../../src/messages/release.ts';
import { holdSignal, unholdUpdate, viewQuery } from '../../src/messages/target.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import { unansweredAndLost } from './faults.ts';
import { replayFailures } from './harness.ts';
import { BO } from './lives/life.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import type { ActivityName, Fault } from './world.ts';

const TRIED = [
  'findDeployment',
  'askAgent',
  'uploadArtifact',
  'readRevision',
  'awaitDeployed',
  'confirmServing',
  'runCheck',
  'listRevisions',
  'recordRelease',
] as const satisfies readonly ActivityName[];
const INTERVENTIONS = ['pause', 'resume', 'pause', 'resume', 'abort'] as const;
const ROUNDS = 84;
const TRY_MAX_MS = 60;
const HOLDS = 6;

describeWorkflows('a release that gets queries and messages while local activities run', (harness) => {
  // A query that arrives with a workflow task ends the task in the middle of a local try. Which query does so depends
  // on microseconds.
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);

  it.concurrent.each(rounds)('replays: round %i', async (round) => {
    const { target } = harness.newServingTarget();
    const from = TRIED[round % TRIED.length]!;
    // A check is tried locally only if it was quick before.
    if (from === 'runCheck') await target.release('before');
    for (const name of TRIED) target.world.nextTries(name, slow);
    const { releaseId } = await target.submit('a');
    const asking = askUntilClosed(target, releaseId);
    const intervening = interveneFrom(target, releaseId, from, round % 3 === 0);
    await target.result(releaseId);
    await Promise.all([asking, intervening]);
    await expectReplay(target);
  });

  it.concurrent.each(rounds)('replays after an abort during an unanswered PATCH: round %i', async () => {
    const { target } = harness.newServingTarget();
    target.world.nextTries('readDeployment', slow, slow, slow, slow);
    const patch = target.world.gate('patchDeployment', unansweredAndLost);
    const { releaseId } = await target.submit('a');
    const asking = askUntilClosed(target, releaseId);
    await target.world.called('patchDeployment');
    await target.say(releaseId, 'abort', { who: 'ada' });
    patch.open();
    await target.result(releaseId);
    await asking;
    await expectReplay(target);
  });
});

describeWorkflows('a target that gets queries and messages while it reads its earlier state', (harness) => {
  const rounds = Array.from({ length: ROUNDS }, (_, round) => round);

  it.concurrent.each(rounds)('replays: round %i', async (round) => {
    const target = harness.newTarget({ continueAsNewAfterEvents: 20 + round });
    target.world.next('recallTarget', slow);
    const releasing = target.release('a');
    const told = new AbortController();
    const ask = async (): Promise<void> => {
      while (!told.signal.aborted) {
        await target.handle.query(viewQuery).catch(() => undefined);
        await atMost(15);
      }
    };
    const asking = Promise.all([ask(), ask(), ask()]);
    await releasing;
    for (let hold = 0; hold < HOLDS; hold++) {
      await target.handle.signal(holdSignal, BO);
      await atMost(TRY_MAX_MS);
      await target.handle.executeUpdate(unholdUpdate, { args: [BO] });
      await atMost(TRY_MAX_MS);
    }
    told.abort();
    await asking;
    await target.idle();
    await expectReplay(target);
  });
});

const slow: Fault = async (perform) => {
  await atMost(TRY_MAX_MS);
  return perform();
};

async function expectReplay(target: TargetUnderTest): Promise<void> {
  const histories = await target.histories();
  expect(await replayFailures(inject('workflowBundle'), histories)).toEqual([]);
  for (const { history } of histories) expect(readFailedTasks(history.events ?? [])).toEqual([]);
}

async function askUntilClosed(target: TargetUnderTest, releaseId: string): Promise<void> {
  const release = target.child(releaseId);
  const status = async (): Promise<string> => {
    try {
      return (await release.describe()).status.name;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'NOT_YET';
      throw error;
    }
  };
  const ask = async (): Promise<void> => {
    for (let is = await status(); is === 'RUNNING' || is === 'NOT_YET'; is = await status()) {
      // A query at the end of the release may be lost.
      if (is === 'RUNNING') await release.query(progressQuery).catch(() => undefined);
      await atMost(15);
    }
  };
  await Promise.all([ask(), ask(), ask()]);
}

/** Sends a release one intervention after the other until it has ended, starting with the first call of an activity. */
async function interveneFrom(
  target: TargetUnderTest,
  releaseId: string,
  from: ActivityName,
  bySignal: boolean,
): Promise<void> {
  const release = target.child(releaseId);
  await target.world.called(from);
  for (const kind of INTERVENTIONS) {
    await atMost(TRY_MAX_MS);
    try {
      if (bySignal) await release.signal(INTERVENTION_SIGNALS[kind], { who: 'ada' });
      else await release.executeUpdate(INTERVENTION_UPDATES[kind], { args: [{ who: 'ada' }] });
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return;
      throw error;
    }
  }
}

function atMost(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * milliseconds));
}
