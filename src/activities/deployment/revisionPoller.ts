import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import pLimit from 'p-limit';

import { revisionPhase } from '../../domain/deployment/revision.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import {
  awaitRevisionSignal,
  revisionStatusSignal,
  UNREADABLE,
  type WaitingRevision,
  waitingKey,
} from '../../messages/revisionPoller.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { notYet } from '../activityFailure.ts';
import { askTemporal } from '../askTemporal.ts';
import type { Pause } from '../polling.ts';
import type { Untracked } from '../track.ts';
import type { RequestRates } from './requestRates.ts';
import { RevisionWatcher, type WatchedClient } from './revisionWatcher.ts';

/** How long one attempt polls. Then the workflow puts together what still waits. */
const ATTEMPT_MS = 5 * 60_000;
/** After a worker that ends has handed its polls over. */
const HAND_OVER_MS = 200;
/** Reports on their way to Temporal at once: releases that go on need it, too. */
const REPORTS_MAX = 20;
/** How many pollers share what waits at one control plane: each keeps its list in one message of Temporal's, of 2 MB. */
const SHARES = 8;

/**
 * Leaves a revision to the poller of its control plane, which is started where there is none. For the workflow whose
 * activity calls.
 *
 * @param taskQueue - the workflows'.
 */
export async function leaveToPoller(
  target: TargetSpec,
  taskQueue: string,
  revision: Omit<WaitingRevision, 'workflowId'>,
): Promise<void> {
  const workflowId = Context.current().info.workflowExecution?.workflowId;
  if (workflowId === undefined) throw new Error('an activity without a workflow');
  await askTemporal((client) =>
    client.workflow.signalWithStart(WORKFLOW_TYPES.revisionPoller, {
      workflowId: revisionPollerId(target, taskQueue, revision.revisionId),
      taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [{ target }],
      signal: awaitRevisionSignal,
      signalArgs: [{ workflowId, ...revision }],
      staticSummary: `polls ${target.controlPlane} for all that wait there`,
    }),
  );
}

/** A poller's workflow: one share of what waits at a control plane, for each key and tenant, which say who may read it. */
export function revisionPollerId(
  { controlPlane, vocabulary, apiKey, tenantId }: TargetSpec,
  taskQueue: string,
  revisionId: string,
): string {
  const caller = digest(JSON.stringify([controlPlane, vocabulary, apiKey, tenantId, taskQueue]));
  return `revision-poller:${caller}:${parseInt(digest(revisionId), 16) % SHARES}`;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/**
 * Polls a control plane for all that wait there.
 *
 * @param onPolled - called with the number of revisions that this process polls for, whenever it changes.
 */
export function revisionPollerActivities(
  outside: { readonly controlPlane: (target: TargetSpec) => WatchedClient },
  rates: RequestRates,
  pause: Pause,
  shuttingDown: AbortSignal,
  onPolled: (revisions: number) => void = () => undefined,
): Untracked<Pick<Activities, 'pollRevisions'>> {
  const watchers = new WeakMap<WatchedClient, RevisionWatcher>();
  const watcherOf = (client: WatchedClient, { controlPlane }: TargetSpec): RevisionWatcher => {
    const watcher = watchers.get(client) ?? new RevisionWatcher(client, controlPlane, rates);
    watchers.set(client, watcher);
    return watcher;
  };
  const reports = pLimit(REPORTS_MAX);
  let polled = 0;
  const pollMore = (revisions: number): void => onPolled((polled += revisions));
  return {
    pollRevisions: async ({ target, waiting }) => {
      const watcher = watcherOf(outside.controlPlane(target), target);
      const { client } = Context.current();
      const stops: ((isDone: boolean) => void)[] = [];
      const settled: string[] = [];
      let isOver = false;
      /** Resolves when no release waits for the revision any more. */
      const poll = (revision: WaitingRevision): Promise<void> =>
        new Promise((resolve) => {
          let { status } = revision;
          let isReporting = false;
          const onStatus = async (seen: string): Promise<void> => {
            if (isReporting) return;
            isReporting = true;
            if (seen !== status && (await reports(() => report(client, revision, seen)))) status = seen;
            isReporting = false;
            if (!isSettled(status) && Date.now() < revision.until) return;
            settled.push(waitingKey(revision));
            // A report may still be on its way when the attempt has ended.
            if (!isOver) pollMore(-1);
            stop(true);
            resolve();
          };
          const stop = watcher.watch(revision, (seen) => void onStatus(seen));
          stops.push(stop);
        });
      pollMore(waiting.length);
      try {
        await Promise.race([Promise.all(waiting.map(poll)), pause(ATTEMPT_MS)]);
      } finally {
        isOver = true;
        pollMore(settled.length - waiting.length);
        for (const stop of stops) stop(shuttingDown.aborted);
      }
      if (shuttingDown.aborted) throw notYet('SLIPWAY_STEP_TIMED_OUT', 'the worker ends', HAND_OVER_MS);
      return { settled };
    },
  };
}

function isSettled(status: string): boolean {
  return status === UNREADABLE || revisionPhase(status) !== 'pending';
}

/** @returns whether the workflow that waits has it, or is no more. Else it is reported again after the next look. */
async function report(
  client: Client,
  { workflowId, revisionId }: WaitingRevision,
  status: string,
): Promise<boolean> {
  try {
    await client.workflow.getHandle(workflowId).signal(revisionStatusSignal, { revisionId, status });
    return true;
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}
