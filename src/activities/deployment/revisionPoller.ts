import { createHash } from 'node:crypto';

import { Context } from '@temporalio/activity';
import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import pLimit from 'p-limit';

import { POLL_ATTEMPT_MS, revisionPhase } from '../../domain/deployment/revision.ts';
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
import { callingWorkflow } from '../callingWorkflow.ts';
import type { Pause } from '../polling.ts';
import { attemptClock } from '../temporalTime.ts';
import type { Untracked } from '../track.ts';
import type { RequestRates } from './requestRates.ts';
import { RevisionWatcher, type WatchedClient } from './revisionWatcher.ts';

/** How long a worker that shuts down takes to hand its polls over. */
const HAND_OVER_MS = 200;
/** How many signals to send to Temporal at once, because running releases need it, too. */
const REPORTS_MAX = 20;
/**
 * While revisions settle, of this attempt or of another one, an attempt goes on until none has for this long, in milliseconds.
 * When it ends, its workflow's next task may wait for minutes, behind those of the releases. An attempt may last ten minutes.
 */
const MORE_MS = 60_000;
const MORE_MAX = 4;
/** How many pollers share a control plane's waiting revisions: each list must fit into Temporal's 2 MB. */
const SHARES = 8;

/**
 * Hands the revision of the calling workflow over to its control plane's poller, and starts the poller if none runs.
 * @param taskQueue - the workflows' task queue.
 */
export async function leaveToPoller(
  target: TargetSpec,
  taskQueue: string,
  revision: Omit<WaitingRevision, 'workflowId'>,
): Promise<void> {
  const { workflowId } = callingWorkflow();
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

/** The workflow id of a poller: one share of a control plane's waiting revisions, for each key and tenant. */
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
 * Polls a control plane for all waiting workflows.
 * @param onPolled - called with the number of revisions that this process polls, when it changes.
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
  /** How many revisions have settled, in all attempts of this process. */
  let settledInAll = 0;
  const pollMore = (revisions: number): void => onPolled((polled += revisions));
  return {
    pollRevisions: async ({ target, waiting }) => {
      const watcher = watcherOf(outside.controlPlane(target), target);
      const { client } = Context.current();
      const now = attemptClock();
      const stops: ((isDone: boolean) => void)[] = [];
      const settled: string[] = [];
      let isOver = false;
      /** Resolves when no release waits for the revision any longer. */
      const poll = (revision: WaitingRevision): Promise<void> =>
        new Promise((resolve) => {
          let { status } = revision;
          let isReporting = false;
          const onStatus = async (seen: string): Promise<void> => {
            if (isReporting) return;
            isReporting = true;
            if (seen !== status && (await reports(() => report(client, revision, seen)))) status = seen;
            isReporting = false;
            if (!isSettled(status) && now() < revision.until) return;
            settled.push(waitingKey(revision));
            settledInAll++;
            // A signal may still be on its way when the attempt has ended.
            if (!isOver) pollMore(-1);
            stop(true);
            resolve();
          };
          const stop = watcher.watch(revision, (seen) => void onStatus(seen));
          stops.push(stop);
        });
      pollMore(waiting.length);
      let before = settledInAll;
      try {
        const all = Promise.all(waiting.map(poll));
        await Promise.race([all, pause(POLL_ATTEMPT_MS)]);
        for (let more = 0; more < MORE_MAX && !shuttingDown.aborted; more++) {
          if (settledInAll === before || settled.length === waiting.length) break;
          before = settledInAll;
          await Promise.race([all, pause(MORE_MS)]);
        }
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

/**
 * @returns whether the waiting workflow got the signal or no longer exists. If not, it is signaled again after the
 * next read.
 */
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
