import type { Check } from './check/check.ts';
import { overrideStep, STEP_NAMES, type StepName, type StepOverrides, type StepPolicy } from './step.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** The longest that one call may take, in milliseconds: nothing that the two services do at once takes longer. */
export const LONGEST_CALL_MS = 15 * SECOND;

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
   * first (`workflows/sendAtMostOnce.ts`). `activity`: Temporal tries again by itself. `poll`: the same, but an attempt that
   * hands its slot back ends, too, so that attempts are not counted: the step's deadline alone bounds it.
   */
  readonly retriedBy: 'once' | 'activity' | 'poll';
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
 * - `startToCloseMs` covers every call that one attempt can make, one after another, each of which may take
 *   {@link LONGEST_CALL_MS}. A test holds each activity to it (`test/activities/slowServices.test.ts`). A step without
 *   heartbeat makes one such call. A PATCH that is given up on too early is worse than one that is waited for: it may
 *   land later, and must be looked for.
 * - `heartbeatMs` bounds silence alone. Heartbeats are sent beside the calls, every 2 s, and the SDK holds some back for
 *   up to 8 of the 10 s: a busy worker is not taken for dead, and what pages, uploads, polls or checks takes its time.
 *
 * Deadlines of steps that run checks follow from the checks ({@link coverChecks}); those of the way back are longer
 * ({@link patiently}).
 *
 * None of them is what a killed worker costs where it is started again: its successor knows of the kill, and fails what
 * it held (`temporal/server/predecessors`), so that the release goes on without waiting for any of them. They are what a
 * worker costs that dies with its machine: 10 s of silence, or 15 to 20 s of an attempt, then at most 5 s until the next
 * attempt of a poll, 1 s of any other step's first, and 1 s for the dead worker's queue of workflow tasks (`worker.ts`)
 * or 3 s for one that it had begun (`WORKFLOW_TASK_TIMEOUT_MS`): together below the step's own deadline and 15 s.
 */
export const STEPS: Readonly<Record<StepName, StepRow>> = {
  candidate: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 30 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  find: {
    // A search by name reads every page of similar names.
    startToCloseMs: 5 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'activity',
  },
  create: {
    // The artifact is looked for first.
    startToCloseMs: MINUTE,
    scheduleToCloseMs: 5 * MINUTE,
    heartbeatMs: 10 * SECOND,
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
    startToCloseMs: 2 * MINUTE,
    scheduleToCloseMs: 30 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
  },
  serving: {
    startToCloseMs: 2 * MINUTE,
    scheduleToCloseMs: 5 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
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
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
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
    retriedBy: 'poll',
  },
  promote: {
    startToCloseMs: 2 * MINUTE,
    // A release may wait for its turn, or for a freeze to end.
    scheduleToCloseMs: 30 * DAY,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 5 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
  },
  bake: {
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 15 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: READ_RETRY,
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
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
    startToCloseMs: 2 * MINUTE,
    scheduleToCloseMs: 60 * MINUTE,
    heartbeatMs: 10 * SECOND,
    retry: { ...READ_RETRY, maximumIntervalMs: 30 * SECOND },
    cancellation: 'TRY_CANCEL',
    retriedBy: 'poll',
  },
  record: {
    startToCloseMs: MINUTE,
    scheduleToCloseMs: 5 * MINUTE,
    heartbeatMs: 10 * SECOND,
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

/** The steps that poll: their deadline alone bounds them. */
export const POLLING_STEPS: readonly string[] = STEP_NAMES.filter((step) => STEPS[step].retriedBy === 'poll');

/**
 * A step's policy with the overrides of `slipway.yaml`. Attempts of a poll are not counted: one that hands its slot back
 * ends, too.
 */
export function stepPolicy(step: StepName, overrides: StepOverrides): StepPolicy {
  const policy = overrideStep(STEPS[step], overrides[step]);
  return POLLING_STEPS.includes(step)
    ? { ...policy, retry: { ...policy.retry, maximumAttempts: 0 } }
    : policy;
}

/** Around each check: whether the revision is active, before and after; the verdict's feedback; its answer's record. */
const CALLS_AROUND_CHECK = 4;

/** How long one attempt of these checks may take, one after another, in milliseconds. */
function longestRoundMs(checks: readonly Pick<Check, 'timeoutMs'>[]): number {
  const longest = checks.map(({ timeoutMs }) => timeoutMs + CALLS_AROUND_CHECK * LONGEST_CALL_MS);
  return longest.reduce((sum, ms) => sum + ms, LONGEST_CALL_MS);
}

/**
 * The overrides under which a step runs checks: its deadlines cover them, unless `slipway.yaml` sets its deadlines.
 *
 * @param checks - those of one attempt.
 */
export function coverChecks(
  step: StepName,
  overrides: StepOverrides,
  checks: readonly Pick<Check, 'timeoutMs'>[],
): StepOverrides {
  const { startToCloseMs, scheduleToCloseMs, retry } = STEPS[step];
  const { maximumAttempts, maximumIntervalMs } = stepPolicy(step, overrides).retry;
  const roundMs = longestRoundMs(checks);
  const attempts = Math.max(maximumAttempts, retry.maximumAttempts, 1);
  const covered = {
    startToCloseMs: Math.max(startToCloseMs, roundMs),
    scheduleToCloseMs: Math.max(scheduleToCloseMs, attempts * (roundMs + maximumIntervalMs)),
  };
  return { ...overrides, [step]: { ...covered, ...overrides[step] } };
}

/** By how much longer, and more often, each step is tried that puts a revision back. */
const RESTORE_PATIENCE = 2;

/**
 * The overrides under which a revision is put back. Giving up on that wakes a person, so each step has twice the time
 * and twice the attempts of the same step on the way forward.
 */
export function patiently(overrides: StepOverrides): StepOverrides {
  return Object.fromEntries(
    STEP_NAMES.map((step) => {
      const { scheduleToCloseMs, retry } = stepPolicy(step, overrides);
      const patient = {
        scheduleToCloseMs: scheduleToCloseMs * RESTORE_PATIENCE,
        retry: { ...retry, maximumAttempts: retry.maximumAttempts * RESTORE_PATIENCE },
      };
      return [step, { ...overrides[step], ...patient }];
    }),
  );
}
