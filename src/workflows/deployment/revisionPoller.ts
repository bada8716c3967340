import {
  ActivityCancellationType,
  condition,
  continueAsNew,
  proxyActivities,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { pollQueue } from '../../domain/taskQueues.ts';
import {
  awaitRevisionSignal,
  readWaitingRevision,
  type RevisionPollerInput,
  type WaitingRevision,
  waitingKey,
} from '../../messages/revisionPoller.ts';

/** Those that come within this time are polled together. */
const GATHER_MS = 1_000;
/** How many one activity polls at most: their list is in the history, some 200 bytes each. */
const POLLED_TOGETHER_MAX = 500;
/** The longest history before it carries on as a new run. */
const EVENTS_MAX = 2_000;
/** After an activity that failed: what waits goes into the next one. */
const PAUSE_AFTER_FAILURE_MS = 10_000;

/**
 * Polls a control plane for all releases and rollbacks that wait for their revisions there, so that none of them holds a
 * slot or runs an activity while it waits. It lives while there is one.
 *
 * A release never depends on it alone: it looks by itself from time to time, and at its deadline.
 */
export async function revisionPoller({ target, waiting = [] }: RevisionPollerInput): Promise<void> {
  const activities = proxyActivities<Pick<Activities, 'pollRevisions'>>({
    taskQueue: pollQueue(workflowInfo().taskQueue, false),
    // One attempt lasts 5 minutes.
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumInterval: '10 seconds' },
    summary: `poll ${target.controlPlane}`,
  });
  const known = new Map<string, WaitingRevision>();
  let arrived: WaitingRevision[] = [];
  let polls = 0;
  const add = (revision: WaitingRevision): void => {
    const key = waitingKey(revision);
    if (known.has(key) || revision.until < Date.now()) return;
    known.set(key, revision);
    arrived.push(revision);
  };
  const poll = async (polled: readonly WaitingRevision[]): Promise<void> => {
    polls++;
    let settled = new Set<string>();
    try {
      settled = new Set((await activities.pollRevisions({ target, waiting: polled })).settled);
    } catch {
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
    polls--;
    for (const revision of polled) {
      known.delete(waitingKey(revision));
      if (!settled.has(waitingKey(revision))) add(revision);
    }
  };
  waiting.forEach(add);
  setHandler(
    awaitRevisionSignal,
    (raw) => {
      const revision = readWaitingRevision(raw);
      if (revision !== undefined) add(revision);
    },
    { description: 'Report to a workflow when the status of a revision changes' },
  );
  await sleep(GATHER_MS);
  while (known.size > 0) {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (continueAsNewSuggested || historyLength > EVENTS_MAX) {
      await continueAsNew<typeof revisionPoller>({ target, waiting: [...known.values()] });
    }
    if (arrived.length > 0) {
      void poll(arrived.slice(0, POLLED_TOGETHER_MAX));
      arrived = arrived.slice(POLLED_TOGETHER_MAX);
    }
    await condition(() => arrived.length > 0 || polls === 0);
    if (arrived.length > 0 && arrived.length < POLLED_TOGETHER_MAX) await sleep(GATHER_MS);
  }
}
