import { overrideStep, type StepName, type StepOverrides, type StepPolicy } from './step.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** How a step's activity takes a cancellation of the scope around it. */
type Cancellation = 'TRY_CANCEL' | 'ABANDON';

/** One row of the table: a step's policy, and how its calls are cancelled and repeated. */
export interface StepRow extends StepPolicy {
  /**
   * `TRY_CANCEL` for reads, polls and checks: a rollback does not wait for their next heartbeat. What changes the
   * deployment runs in a non-cancellable scope and is short.
   */
  readonly cancellation: Cancellation;
  /**
   * `once`: sent once per attempt of the workflow, because what comes after an unknown answer is decided by reading
   * first (`workflows/sendOnce.ts`). `activity`: Temporal tries again by itself.
   */
  readonly retriedBy: 'once' | 'activity';
}

const READ_RETRY = {
  initialIntervalMs: 500,
  backoffCoefficient: 2,
  maximumIntervalMs: 15 * SECOND,
  maximumAttempts: 0,
};
/**
 * A check that could not be carried out says nothing of the agent: it is tried again for half a minute, which is more
 * than a platform, or an agent, takes to come back. An answer that the check does not like is tried no second time.
 */
const CHECK_RETRY = { ...READ_RETRY, maximumAttempts: 7 };
const WRITE_RETRY = {
  initialIntervalMs: SECOND,
  backoffCoefficient: 2,
  maximumIntervalMs: 15 * SECOND,
  maximumAttempts: 6,
};

/**
 * Every step's deadlines, retries, heartbeat and cancellation. `slipway.yaml` may override deadlines and retries.
 *
 * What the deadlines of an attempt are for, and why they are no shorter:
 * - `startToCloseMs` of a step without heartbeat bounds one call, or a few: 15 s of the longest call that a slow control
 *   plane may take (`callOptions.ts`), and a little to tell of it. A PATCH that is given up on too early is worse than
 *   one that is waited for: it may land later, and must be looked for.
 * - `heartbeatMs` bounds silence alone. A heartbeat is sent every 2 s, and the SDK holds some back for up to 8 of the
 *   10 s: a busy worker is not taken for dead, and what uploads, polls or checks may last as long as it likes.
 *
 * None of them is what a killed worker costs where it is started again: its successor knows of the kill, and fails what
 * it held (`temporal/predecessors`), so that the release goes on without waiting for any of them. They are what a
 * worker costs that dies with its machine: 10 s of silence, or 15 to 20 s of an attempt, then at most 5 s until the next
 * attempt of a poll, 1 s of any other step's first, and 1 s for the dead worker's queue of workflow tasks (`worker.ts`)
 * or 3 s for one that it had begun (`WORKFLOW_TASK_TIMEOUT_MS`): together below the step's own deadline and 15 s.
 */
export const STEPS: Readonly<Record<StepName, StepRow>> = {
  candidate: {
    startToCloseMs: 30 * SECOND,
    scheduleToCloseMs: 10 * MINUTE,
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
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
    retry: CHECK_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  freeze: {
    startToCloseMs: 10 * SECOND,
    scheduleToCloseMs: 5 * MINUTE,
    retry: READ_RETRY,
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
    retry: CHECK_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  soak: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: CHECK_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  judge: {
    // Runs of a model, up to hours of them. Each run has its own deadline, and silence is what tells of a dead worker:
    // the next attempt goes on with the runs that were kept. These two only bound what nobody has foreseen.
    startToCloseMs: 12 * 60 * MINUTE,
    scheduleToCloseMs: DAY,
    heartbeatMs: 10 * SECOND,
    // An agent that is away is a finding of the judge. What is tried again is the store and the control plane.
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  promote: {
    startToCloseMs: 90 * SECOND,
    // A release may wait for its turn, or for a freeze to end.
    scheduleToCloseMs: 30 * DAY,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  bake: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: READ_RETRY,
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
  notify: {
    // Up to four calls of 10 s each, where the receiver is GitHub.
    startToCloseMs: 45 * SECOND,
    // Nobody waits for it: what is told later than this is no news.
    scheduleToCloseMs: 30 * MINUTE,
    retry: { ...READ_RETRY, initialIntervalMs: SECOND, maximumIntervalMs: MINUTE },
    cancellation: 'ABANDON',
    retriedBy: 'activity',
  },
};

/** A step's policy with the overrides of `slipway.yaml`. */
export function stepPolicy(step: StepName, overrides: StepOverrides): StepPolicy {
  return overrideStep(STEPS[step], overrides[step]);
}

/** By how much more often a check is tried that could not be carried out on a revision that is put back. */
const RESTORE_PATIENCE = 2;

/**
 * The overrides under which a revision is put back. Giving up on it wakes a person: a check that could not be carried out
 * is tried for two minutes, as long as a platform that was killed may take until its agents answer again.
 */
export function patiently(overrides: StepOverrides): StepOverrides {
  const { retry } = stepPolicy('check', overrides);
  const maximumAttempts = retry.maximumAttempts * RESTORE_PATIENCE;
  return { ...overrides, check: { ...overrides.check, retry: { ...retry, maximumAttempts } } };
}
