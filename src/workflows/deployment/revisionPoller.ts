import {
  ActivityCancellationType,
  CancellationScope,
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

/** Revisions that arrive within this time, for each that waits, are polled together. */
const GATHER_EACH_MS = 5;
const GATHER_LEAST_MS = 100;
const GATHER_MOST_MS = 10_000;
/** The most revisions that one activity polls. The history contains their list, about 300 bytes for each. */
const POLLED_TOGETHER_MAX = 1_000;
/** The most revisions to keep, because a new run's input is at most 2 MB. Releases beyond them read by themselves. */
const KNOWN_MAX = 4_000;
const EVENTS_MAX = 2_000;
/** The pause after a failed activity. Its revisions go into the next activity. */
const PAUSE_AFTER_FAILURE_MS = 10_000;

/**
 * Polls a control plane for all releases and rollbacks that wait for their revisions, so that a waiting one needs no
 * slot and no activity. It ends when none waits.
 *
 * A release does not depend on the poller alone: it also reads from time to time, and at its deadline.
 */
export function revisionPoller(input: RevisionPollerInput): Promise<void> {
  // Canceled, it would report nothing to those that wait.
  return CancellationScope.nonCancellable(() => pollUntilNoneWaits(input));
}

async function pollUntilNoneWaits({ target, waiting = [] }: RevisionPollerInput): Promise<void> {
  const activities = proxyActivities<Pick<Activities, 'pollRevisions'>>({
    taskQueue: pollQueue(workflowInfo().taskQueue, false),
    // One attempt lasts 5 minutes, and up to 9 while revisions settle.
    startToCloseTimeout: '10 minutes',
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumInterval: '10 seconds' },
    summary: `poll ${target.controlPlane}`,
  });
  const known = new Map<string, WaitingRevision>();
  const arrived: WaitingRevision[] = [];
  /** Whether an attempt has ended: what it polled is not looked at until the next one begins. */
  let hasEnded = false;
  const batches: Batch[] = [];
  const add = (revision: WaitingRevision): void => {
    const key = waitingKey(revision);
    if (known.has(key) || known.size >= KNOWN_MAX || revision.until < Date.now()) return;
    known.set(key, revision);
    arrived.push(revision);
  };
  const poll = async (batch: Batch): Promise<void> => {
    let settled = new Set<string>();
    try {
      const polled = batch.scope.run(() => activities.pollRevisions({ target, waiting: batch.polled }));
      settled = new Set((await polled).settled);
    } catch {
      // The batch was canceled: another batch polls its revisions.
      if (!batches.includes(batch)) return;
      await sleep(PAUSE_AFTER_FAILURE_MS);
    }
    if (!batches.includes(batch)) return;
    batches.splice(batches.indexOf(batch), 1);
    for (const revision of batch.polled) known.delete(waitingKey(revision));
    batch.polled.filter((revision) => !settled.has(waitingKey(revision))).forEach(add);
    hasEnded = true;
  };
  /** Polls the new revisions. Merges smaller batches into the new one, so that there are few batches. */
  const pollArrived = (): void => {
    let polled = arrived.splice(0, POLLED_TOGETHER_MAX);
    for (let last = batches.at(-1); last !== undefined; last = batches.at(-1)) {
      const together = last.polled.length + polled.length;
      if (last.polled.length > 2 * polled.length || together > POLLED_TOGETHER_MAX) break;
      batches.pop();
      last.scope.cancel();
      polled = [...last.polled, ...polled];
    }
    const batch = { polled, scope: new CancellationScope() };
    batches.push(batch);
    void poll(batch);
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
  while (known.size > 0) {
    await condition(() => arrived.length > 0 || batches.length === 0);
    if (arrived.length === 0) continue;
    const gatherMs = Math.min(Math.max(known.size * GATHER_EACH_MS, GATHER_LEAST_MS), GATHER_MOST_MS);
    await condition(() => hasEnded, gatherMs);
    hasEnded = false;
    while (arrived.length > 0) pollArrived();
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    if (continueAsNewSuggested || historyLength > EVENTS_MAX) {
      await continueAsNew<typeof revisionPoller>({ target, waiting: [...known.values()] });
    }
  }
}

interface Batch {
  readonly polled: readonly WaitingRevision[];
  readonly scope: CancellationScope;
}
