import { type Check, longestRuns } from './check/check.ts';
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
 * A check that could not run says nothing about the agent. It is tried again for half a minute: longer than a platform or
 * an agent takes to restart. A check that fails its expectation is not tried again.
 */
const CHECK_RETRY = { ...READ_RETRY, maximumAttempts: 7 };
const POLL_RETRY = { ...READ_RETRY, maximumIntervalMs: 5 * SECOND };
const WRITE_RETRY = { ...READ_RETRY, initialIntervalMs: SECOND, maximumAttempts: 6 };

const HEARTBEAT = { heartbeatMs: 10 * SECOND };
const READ = { retry: READ_RETRY, cancellation: 'TRY_CANCEL', retriedBy: 'activity' } as const;
const POLL = { ...HEARTBEAT, retry: READ_RETRY, cancellation: 'TRY_CANCEL', retriedBy: 'poll' } as const;
const SENT_ONCE = { retry: WRITE_RETRY, cancellation: 'ABANDON', retriedBy: 'once' } as const;
const RUNS_CHECKS = { startToCloseMs: 10 * MINUTE, scheduleToCloseMs: 15 * MINUTE };

/**
 * Every step's deadlines, retries, heartbeat and cancellation. `slipway.yaml` may override deadlines and retries.
 *
 * - `startToCloseMs` covers every call that one attempt can make, one after another, each up to {@link LONGEST_CALL_MS}
 *   (tested: `test/activities/slowServices.test.ts`). A step without heartbeat makes one such call. Giving up on a PATCH
 *   too early is worse than waiting: it may still land, and must be looked for.
 * - `heartbeatMs` bounds silence alone. Heartbeats are sent beside the calls, every 2 s, and the SDK holds some back for
 *   up to 8 of the 10 s, so a busy worker is not taken for dead.
 *
 * {@link coverChecks} extends the deadlines of steps that run checks, {@link patiently} those of a restore.
 *
 * A killed worker that restarts costs none of these: its successor fails what it held (`temporal/server/predecessors`). A
 * worker that dies with its machine costs 10 s of silence or 15 to 20 s of an attempt, plus up to 5 s until a poll's next
 * attempt (1 s for other steps), and 1 to 3 s for its queue of workflow tasks (`worker.ts`, `WORKFLOW_TASK_TIMEOUT_MS`).
 */
export const STEPS: Readonly<Record<StepName, StepRow>> = {
  candidate: { ...READ, ...HEARTBEAT, startToCloseMs: 10 * MINUTE, scheduleToCloseMs: 30 * MINUTE },
  // A search by name reads every page of similar names.
  find: { ...READ, ...HEARTBEAT, startToCloseMs: 5 * MINUTE, scheduleToCloseMs: 15 * MINUTE },
  // Looks for the artifact first.
  create: { ...SENT_ONCE, ...HEARTBEAT, startToCloseMs: MINUTE, scheduleToCloseMs: 5 * MINUTE },
  baseline: { ...READ, ...HEARTBEAT, ...RUNS_CHECKS, retry: CHECK_RETRY },
  freeze: { ...READ, startToCloseMs: 10 * SECOND, scheduleToCloseMs: 5 * MINUTE },
  upload: {
    ...READ,
    ...HEARTBEAT,
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 30 * MINUTE,
    retry: { ...READ_RETRY, initialIntervalMs: SECOND, maximumAttempts: 10 },
  },
  patch: { ...SENT_ONCE, startToCloseMs: 20 * SECOND, scheduleToCloseMs: 5 * MINUTE },
  // One attempt polls for up to a minute and then hands its slot back.
  deployed: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 30 * MINUTE, retry: POLL_RETRY },
  serving: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 5 * MINUTE, retry: POLL_RETRY },
  check: { ...READ, ...HEARTBEAT, ...RUNS_CHECKS, retry: CHECK_RETRY },
  soak: { ...POLL, ...RUNS_CHECKS },
  // Runs of a model, up to hours of them. Each run has its own deadline, and heartbeats show a dead worker: the next
  // attempt continues with the runs that were kept. An agent that is away is a finding of the judge, so a retry is for the
  // store and the control plane.
  judge: { ...POLL, startToCloseMs: DAY / 2, scheduleToCloseMs: DAY },
  // A release may wait for its turn, or for a freeze to end.
  promote: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 30 * DAY, retry: POLL_RETRY },
  bake: { ...POLL, ...RUNS_CHECKS },
  // Giving up on a restore wakes a person: it is tried for longer than anything else.
  redeploy: {
    ...SENT_ONCE,
    startToCloseMs: 20 * SECOND,
    scheduleToCloseMs: 15 * MINUTE,
    retry: { ...WRITE_RETRY, maximumAttempts: 60 },
  },
  watch: {
    ...POLL,
    startToCloseMs: 2 * MINUTE,
    scheduleToCloseMs: 60 * MINUTE,
    retry: { ...READ_RETRY, maximumIntervalMs: 30 * SECOND },
  },
  record: {
    ...HEARTBEAT,
    startToCloseMs: MINUTE,
    scheduleToCloseMs: 5 * MINUTE,
    retry: { ...READ_RETRY, maximumAttempts: 8 },
    cancellation: 'ABANDON',
    retriedBy: 'activity',
  },
  notify: {
    // Up to four calls of 10 s each if the receiver is GitHub. Nothing waits for it.
    startToCloseMs: 45 * SECOND,
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

/** What of a check says how long it may take. */
type TimedCheck = Pick<Check, 'timeoutMs' | 'turns'>;

/** Around a conversation: its thread is made, removed, and so is that of an attempt before. */
const CALLS_AROUND_CONVERSATION = 3;

/** How long one attempt of these checks may take, one after another, in milliseconds. */
function longestRoundMs(checks: readonly TimedCheck[]): number {
  const longest = checks.map((check) => {
    const calls = CALLS_AROUND_CHECK + (check.turns === undefined ? 0 : CALLS_AROUND_CONVERSATION);
    return longestRuns(check) * check.timeoutMs + calls * LONGEST_CALL_MS;
  });
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
  checks: readonly TimedCheck[],
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
