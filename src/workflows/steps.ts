import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';

import { type Activities } from '../activities/activities.ts';
import { overrideStep, type StepName, type StepOverrides, type StepPolicy } from '../domain/step.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** How a step's activity takes a cancellation of the scope around it. */
type Cancellation = 'TRY_CANCEL' | 'ABANDON';

interface StepRow extends StepPolicy {
  /**
   * `TRY_CANCEL` for reads, polls and checks: a rollback does not wait for their next heartbeat. What changes the
   * deployment runs in a non-cancellable scope and is short.
   */
  readonly cancellation: Cancellation;
  /**
   * `once`: sent once per attempt of the workflow, because what comes after an unknown answer is decided by reading
   * first ({@link file://./sendOnce.ts}). `activity`: Temporal tries again by itself.
   */
  readonly retriedBy: 'once' | 'activity';
}

const READ_RETRY = {
  initialIntervalMs: 500,
  backoffCoefficient: 2,
  maximumIntervalMs: 15 * SECOND,
  maximumAttempts: 0,
};
const WRITE_RETRY = {
  initialIntervalMs: SECOND,
  backoffCoefficient: 2,
  maximumIntervalMs: 15 * SECOND,
  maximumAttempts: 6,
};

/** Every step's deadlines, retries, heartbeat and cancellation. `slipway.yaml` may override deadlines and retries. */
const STEPS: Readonly<Record<StepName, StepRow>> = {
  find: {
    startToCloseMs: 15 * SECOND,
    scheduleToCloseMs: 5 * MINUTE,
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  create: {
    startToCloseMs: 20 * SECOND,
    scheduleToCloseMs: 5 * MINUTE,
    retry: WRITE_RETRY,
    cancellation: 'ABANDON',
    retriedBy: 'once',
  },
  baseline: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumAttempts: 3 },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  upload: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 30 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, initialIntervalMs: SECOND, maximumAttempts: 10 },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  patch: {
    startToCloseMs: 20 * SECOND,
    scheduleToCloseMs: 5 * MINUTE,
    retry: WRITE_RETRY,
    cancellation: 'ABANDON',
    retriedBy: 'once',
  },
  deployed: {
    // One attempt polls for up to a minute and then hands its slot back.
    startToCloseMs: 90 * SECOND,
    scheduleToCloseMs: 30 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  serving: {
    startToCloseMs: 90 * SECOND,
    scheduleToCloseMs: 5 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  check: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumAttempts: 4 },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  soak: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumAttempts: 4 },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  redeploy: {
    startToCloseMs: 20 * SECOND,
    // Giving up on a restore wakes a person: it is tried for longer than anything else.
    scheduleToCloseMs: 15 * MINUTE,
    retry: { ...WRITE_RETRY, maximumAttempts: 60 },
    cancellation: 'ABANDON',
    retriedBy: 'once',
  },
  watch: {
    startToCloseMs: 90 * SECOND,
    scheduleToCloseMs: 60 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 30 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  record: {
    startToCloseMs: 15 * SECOND,
    scheduleToCloseMs: 2 * MINUTE,
    retry: { ...READ_RETRY, maximumAttempts: 8 },
    cancellation: 'ABANDON',
    retriedBy: 'activity',
  },
};

/** A step's policy with the overrides of `slipway.yaml`. */
export function stepPolicy(step: StepName, overrides: StepOverrides): StepPolicy {
  return overrideStep(STEPS[step], overrides[step]);
}

/**
 * The activities under a step's options.
 *
 * @param summary - one line that Temporal's own UI shows beside the activity.
 */
export function activitiesOf(step: StepName, overrides: StepOverrides, summary: string): Activities {
  const { cancellation, retriedBy } = STEPS[step];
  const policy = stepPolicy(step, overrides);
  return proxyActivities<Activities>({
    summary: shortSummary(summary),
    startToCloseTimeout: policy.startToCloseMs,
    scheduleToCloseTimeout: policy.scheduleToCloseMs,
    ...(policy.heartbeatMs === undefined ? {} : { heartbeatTimeout: policy.heartbeatMs }),
    cancellationType: ActivityCancellationType[cancellation],
    retry: {
      initialInterval: policy.retry.initialIntervalMs,
      backoffCoefficient: policy.retry.backoffCoefficient,
      maximumInterval: policy.retry.maximumIntervalMs,
      ...retryAttempts(retriedBy, policy.retry.maximumAttempts),
    },
  });
}

function retryAttempts(
  retriedBy: StepRow['retriedBy'],
  maximumAttempts: number,
): { maximumAttempts?: number } {
  if (retriedBy === 'once') return { maximumAttempts: 1 };
  return maximumAttempts === 0 ? {} : { maximumAttempts };
}

/** Temporal allows a summary 400 bytes (not every server holds to it); a character takes at most three. */
const SUMMARY_MAX_CHARACTERS = 120;

/** A summary that the server takes, whatever a check or a deployment is called. */
export function shortSummary(text: string): string {
  return text.slice(0, SUMMARY_MAX_CHARACTERS);
}
