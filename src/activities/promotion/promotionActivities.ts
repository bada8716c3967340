import { Context } from '@temporalio/activity';

import { type ArtifactStore, readTargetRecord } from '../../artifact/artifactStore.ts';
import { releaseRecords } from '../../artifact/releaseRecords.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { Progress } from '../../domain/release/release.ts';
import { seeTarget, type TargetSeen, whyGone, whyStopped } from '../../domain/promotion/candidate.ts';
import { type TargetSpec, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { HistoryRow, Lookup } from '../../domain/target/targetState.ts';
import { progressQuery } from '../../messages/release.ts';
import { holdUpdate, lookupQuery, type TargetView, withdrawUpdate } from '../../messages/target.ts';
import type { Activities } from '../activities.ts';
import { askTemporal } from '../askTemporal.ts';
import type { PollUntil } from '../polling.ts';
import {
  askForRollback,
  startAgain,
  startTarget,
  submitToTarget,
  updateTarget,
  viewTarget,
} from '../target/targetCalls.ts';
import type { Untracked } from '../track.ts';
import type { Place } from './places.ts';

/** A promotion's calls to targets. Activities, because a workflow can send no query or update to another one. */
export function promotionActivities(
  { findDeployment }: Untracked<Pick<Activities, 'findDeployment'>>,
  pollUntil: PollUntil,
  place: Place,
  openStore: (url: string) => Pick<ArtifactStore, 'getRecord' | 'listRecords'>,
): Untracked<
  Pick<
    Activities,
    'lookAtLine' | 'submitToTarget' | 'awaitRelease' | 'withdrawSubmission' | 'rollBackTarget' | 'holdTarget'
  >
> {
  const see = async (target: TargetSpec, asksControlPlane: boolean, store: string): Promise<TargetSeen> => {
    const deployment = asksControlPlane ? (await findDeployment({ target })).deployment : null;
    const answer = (await viewOf(target)) ?? (await forgotten(target, store));
    return seeTarget(target.name, answer, deployment, target.agentUrl);
  };
  /** The candidate's target. If it has lost its history, the record of the release says who released what serves. */
  const seeSource = async (target: TargetSpec, store: string): Promise<TargetSeen> => {
    const seen = await see(target, true, store);
    const { release, recordedAs, releasedBy } = seen;
    if (release === undefined || releasedBy !== null) return seen;
    const named = { name: recordedAs ?? target.name, workflowId: targetWorkflowId(target) };
    for await (const { requestedBy, commit, committedAt } of releaseRecords(openStore(store), named, release))
      return { ...seen, releasedBy: requestedBy, commit, committedAt };
    return seen;
  };
  /** The state of a target that Temporal no longer has. */
  const forgotten = async (target: TargetSpec, store: string) => {
    const kept = await readTargetRecord(openStore(store), targetWorkflowId(target));
    return kept === undefined ? null : { state: kept.state, running: null };
  };
  const seeAll = (targets: readonly TargetSpec[], store: string) =>
    Promise.all(targets.map((target) => see(target, false, store)));
  return {
    lookAtLine: async ({ from, to, downstream, store }) => ({
      line: {
        from: await seeSource(from, store),
        to: await see(to, true, store),
        downstream: await seeAll(downstream, store),
      },
    }),

    submitToTarget: async ({ request, submission, candidate, downstream = [] }) => {
      await place.take();
      if (candidate !== undefined && Context.current().info.attempt > 1) {
        const taken = (await viewOf(request.target))?.state.submissions.find(({ id }) => id === submission);
        if (taken?.answer !== undefined) return { answer: taken.answer };
        // The wait for its place may have been long.
        const gone = whyGone(candidate, await see(candidate.from, true, request.recordStore));
        const stopped = whyStopped(await seeAll(downstream, request.recordStore));
        const why = gone ?? stopped;
        if (why !== undefined) {
          await place.leave();
          throw new SlipwayError(
            gone === undefined ? 'SLIPWAY_TARGET_ON_HOLD' : 'SLIPWAY_REVISION_REPLACED',
            why,
          );
        }
      }
      const answer = await askTemporal((client) => submitToTarget(client, request, submission));
      return { answer };
    },

    awaitRelease: async ({ target, recordStore, id, candidate }) => {
      // A terminated target would never learn how its release ended.
      await askTemporal((client) => startAgain(client, targetWorkflowId(target), { target, recordStore }));
      // Once in each attempt, which lasts a minute.
      let isDue = Context.current().info.attempt > 1;
      const row = await pollUntil<HistoryRow>('SLIPWAY_STEP_TIMED_OUT', async () => {
        const found = await askTemporal((client) =>
          client.workflow.getHandle(targetWorkflowId(target)).query(lookupQuery, id),
        );
        await place.keep(() => isUnderWay(found));
        if (candidate !== undefined && isDue && (await waitsToBegin(found))) {
          isDue = false;
          // The release goes on if what serves there cannot be read.
          const seen = await see(candidate.from, true, recordStore).catch(() => null);
          const gone = seen === null ? undefined : whyGone(candidate, seen);
          if (gone !== undefined) throw new SlipwayError('SLIPWAY_REVISION_REPLACED', gone);
        }
        if (found === null)
          throw new SlipwayError('SLIPWAY_OUTCOME_UNKNOWN', `"${target.name}" does not know ${id}`);
        if (found.state === 'ended') return { found: found.row };
        return { insteadOf: 'reason' in found ? found.reason : `${id} runs` };
      });
      await place.leave();
      return { row };
    },

    withdrawSubmission: async ({ target, recordStore, submission, by }) => {
      const [releaseId] = await askTemporal((client) =>
        client.workflow.executeUpdateWithStart(withdrawUpdate, {
          args: [{ ...by, submission }],
          startWorkflowOperation: startTarget({ target, recordStore }),
        }),
      );
      await place.leave();
      return { releaseId: releaseId ?? null };
    },

    rollBackTarget: async ({ message, ...kept }) => ({
      answer: await askTemporal((client) =>
        askForRollback(client, targetWorkflowId(kept.target), message, kept),
      ),
    }),

    holdTarget: async ({ by, ...kept }) => {
      await askTemporal((client) =>
        updateTarget(client, targetWorkflowId(kept.target), holdUpdate, { args: [by] }, kept),
      );
      return {};
    },
  };
}

/** Whether a release does something: it does not wait for its turn, a freeze or a person, and does not soak. */
async function isUnderWay(found: Lookup | null): Promise<boolean> {
  if (found?.state !== 'running') return found?.state !== 'queued';
  const progress = await progressOf(found.workflowId);
  return progress === null || (progress.waiting === null && progress.steps.at(-1)?.step !== 'soak');
}

/** Whether a release waits for its turn or for the end of a freeze: then it has changed nothing. */
async function waitsToBegin(found: Lookup | null): Promise<boolean> {
  if (found?.state !== 'running') return found?.state === 'queued';
  return (await progressOf(found.workflowId))?.waiting?.for === 'freeze';
}

/** `null`: it has just ended, or no worker of its version runs. */
function progressOf(workflowId: string): Promise<Progress | null> {
  const ask = askTemporal((client) => client.workflow.getHandle(workflowId).query(progressQuery));
  return ask.catch(() => null);
}

function viewOf(target: TargetSpec): Promise<TargetView | undefined> {
  return askTemporal((client) => viewTarget(client, targetWorkflowId(target)));
}
