import { ActivityCancellationType, workflowInfo } from '@temporalio/workflow';

import type { Activities } from '../activities/activities.ts';
import { cutText } from '../domain/bounds.ts';
import type { Check } from '../domain/check/check.ts';
import type { StepName, StepOverrides } from '../domain/step.ts';
import { coverChecks, stepPolicy, STEPS } from '../domain/stepTable.ts';
import { pollQueue } from '../domain/taskQueues.ts';
import { explain } from './failure.ts';
import { localFirst, throughServer } from './localFirst.ts';
import type { StepActivityOptions } from './traces.ts';

/** Activities that wait for minutes or hours: also notices, because a receiver may not answer, again and again. */
const WAITING_ACTIVITIES: ReadonlySet<string> = new Set<keyof Activities>([
  'awaitDeployed',
  'confirmServing',
  'runCheck',
  'judgeCandidate',
  'awaitLateSuccess',
  'awaitLateUpload',
  'watchRevision',
  'awaitRelease',
  'awaitWork',
  'sendNotice',
  'writeComment',
]);

/**
 * The activities with the options of a step. Waiting activities have their own task queues.
 * @param summary - one line that Temporal's UI shows beside the activity.
 * @param how - `restoring`: the step is part of a restore. `neverLocal`: always run the activity through the server.
 */
export function activitiesOf(
  step: StepName,
  overrides: StepOverrides,
  summary: string,
  { restoring = false, neverLocal = false } = {},
): Activities {
  const { cancellation, retriedBy } = STEPS[step];
  const policy = stepPolicy(step, overrides);
  const options: StepActivityOptions = {
    step,
    summary: shortSummary(summary),
    startToCloseTimeout: policy.startToCloseMs,
    scheduleToCloseTimeout: policy.scheduleToCloseMs === Infinity ? undefined : policy.scheduleToCloseMs,
    heartbeatTimeout: policy.heartbeatMs,
    cancellationType: ActivityCancellationType[cancellation],
    retry: {
      initialInterval: policy.retry.initialIntervalMs,
      backoffCoefficient: policy.retry.backoffCoefficient,
      maximumInterval: policy.retry.maximumIntervalMs,
      // 0: as many as the deadline allows.
      maximumAttempts: retriedBy === 'once' ? 1 : policy.retry.maximumAttempts || Infinity,
    },
  };
  const waiting = { ...options, taskQueue: pollQueue(workflowInfo().taskQueue, restoring) };
  const run = neverLocal ? throughServer : localFirst;
  return new Proxy({} as Activities, {
    get: (_, name: keyof Activities) =>
      WAITING_ACTIVITIES.has(name)
        ? overOutages(run(name, waiting) as Call, policy.scheduleToCloseMs)
        : run(name, options),
  });
}

type Call = (input: unknown) => Promise<unknown>;

/** How late a workflow learns of a deadline if a worker runs, in milliseconds. */
const LEARNS_WITHIN_MS = 10_000;

/**
 * Begins again if the deadline passed while no worker ran: that says nothing about what is awaited. A check learns what it
 * had spent before.
 */
function overOutages(call: Call, deadlineMs: number): Call {
  return async (input) => {
    const deadline = Date.now() + deadlineMs;
    try {
      return await call(input);
    } catch (error) {
      const isLate = Date.now() > deadline + LEARNS_WITHIN_MS;
      const { code, spent } = explain(error);
      if (!isLate || code !== 'SLIPWAY_STEP_TIMED_OUT') throw error;
      return overOutages(call, deadlineMs)(spent === undefined ? input : { ...(input as object), spent });
    }
  };
}

/** The overrides for watching a revision, with time for a last round of checks at its end. */
export function watchOverrides(
  step: 'soak' | 'bake',
  overrides: StepOverrides,
  checks: readonly Check[],
  watchMs: number,
): StepOverrides {
  const covered = coverChecks(step, overrides, checks);
  const { scheduleToCloseMs } = stepPolicy(step, covered);
  return { ...covered, [step]: { ...covered[step], scheduleToCloseMs: watchMs + scheduleToCloseMs } };
}

/** Temporal limits a summary to 400 bytes (some servers do not enforce it). */
const SUMMARY_MAX_BYTES = 380;

/** Shortens a summary so that the server accepts it for any name of a check or deployment. */
export function shortSummary(text: string): string {
  return cutText(text, SUMMARY_MAX_BYTES);
}
