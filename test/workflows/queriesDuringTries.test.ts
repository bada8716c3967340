import { setTimeout as after } from 'node:timers/promises';

import { WorkflowNotFoundError, WorkflowUpdateFailedError } from '@temporalio/client';
import { describe, expect, inject, it } from 'vitest';

import { readFailedTasks } from '../../src/temporal/history/readFacts.ts';
import { INTERVENTION_SIGNALS, INTERVENTION_UPDATES, progressQuery } from '../../src/messages/release.ts';
import { EMPTY_TARGET } from '../../src/domain/target/targetState.ts';
import { holdSignal, unholdUpdate, viewQuery } from '../../src/messages/target.ts';
import { describeWorkflows } from './describeWorkflows.ts';
import { notTaken, refused, unansweredAndLost } from './faults.ts';
import { replayFailures } from './harness.ts';
import { BO } from './lives/life.ts';
import { waitingFor } from './moments.ts';
import { useHarness } from './projectHarness.ts';
import { GREETS } from './requests.ts';
import type { TargetUnderTest } from './targetUnderTest.ts';
import type { Fault } from './world.ts';
import type { ActivityName } from './worldActivities.ts';

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

describe.concurrent('a release in which an activity ends while another one runs locally', () => {
  /** About half of these rounds are so. */
  const rounds = Array.from({ length: 20 }, (_, round) => round);
  /** How long the server waits for the end of each task: time for all that it then delivers with the next one. */
  const delayMs = 50;
  const harness = useHarness({ delayMs });

  it.each(rounds)('replays: round %i', async () => {
    const target = harness.newTarget();
    // Nothing is known of the serving revision. Its checks run through the server, and the upload locally beside them.
    target.world.madeElsewhere('agent');
    target.startWith({ state: { ...EMPTY_TARGET, owns: target.world.deployment?.id } });
    const checked = target.world.gate('runCheck');
    target.world.nextTries('uploadArtifact', refused('SLIPWAY_UNAUTHORIZED', 401), async (...call) => {
      await after(200);
      return notTaken()(...call);
    });
    const checks = ['one', 'two'].map((name) => ({ ...GREETS, name }));
    const releaseId = await waitingFor('decision', target, 'a', {
      checks,
      onError: { then: 'wait', waitMs: 60_000 },
    });
    await target.world.called('runCheck');
    const release = target.child(releaseId);
    // Its task delays the next one, which then brings the query and the message.
    await release.signal('unknown');
    const asking = release.query(progressQuery).catch(() => undefined);
    await after(5);
    await release.signal(INTERVENTION_SIGNALS.retry, { who: 'ada' });
    await atMost(delayMs);
    checked.open();
    await asking;
    await target.result(releaseId);
    await expectReplay(target);
    await target.terminate();
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

  /** In a few, a query ends the first task in the middle of the read, and the reset replays that task. */
  it.concurrent.each(rounds.slice(0, 40))(
    'and is reset to a task within it, handles no signal twice: round %i',
    async (round) => {
      const target = harness.newTarget();
      await target.release('a');
      await target.handle.terminate('by hand');
      target.world.next('recallTarget', async (perform) => {
        await after(300);
        return perform();
      });
      await target.startOnly();
      let isTold = false;
      const ask = async (): Promise<void> => {
        while (!isTold) await target.handle.query(viewQuery).catch(() => undefined);
      };
      const asking = Promise.all([ask(), ask(), ask()]);
      await after(4 * round);
      await target.signal('quarantine', 'garbage');
      await target.viewOnce(({ state }) => state.ignored.length === 1);
      isTold = true;
      await asking;
      await target.reset('middle');
      await target.viewOnce(({ state, recovering }) => recovering !== true && state.history.length === 1);
      await target.release('b');
      expect((await target.idle()).state.ignored).toHaveLength(1);
    },
  );
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
      // A busy worker releases before the last ones arrive.
      const isOver =
        error instanceof WorkflowUpdateFailedError && error.cause?.message === 'the release has ended';
      if (isOver || error instanceof WorkflowNotFoundError) return;
      throw error;
    }
  }
}

function atMost(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * milliseconds));
}
