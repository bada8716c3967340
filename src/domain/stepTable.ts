import { type Check, runsOfOne } from './check/check.ts';
import { longestScoreMs } from './check/evaluator.ts';
import { DAY_MS as DAY, MINUTE_MS as MINUTE } from './duration.ts';
import { overrideStep, STEP_NAMES, type StepName, type StepOverrides, type StepPolicy } from './step.ts';

const SECOND = 1_000;

/** The longest time for one call, in milliseconds. No immediate answer of the two services takes longer. */
export const LONGEST_CALL_MS = 15 * SECOND;

/** How a step's activity reacts to a cancellation of its scope. */
type Cancellation = 'TRY_CANCEL' | 'ABANDON';

/** A row of the table: a step's policy, and how its calls are canceled and repeated. */
export interface StepRow extends StepPolicy {
  /** `TRY_CANCEL` for reads, polls and checks: a rollback does not wait for their next heartbeat. */
  readonly cancellation: Cancellation;
  /**
   * `once`: the workflow sends each attempt itself, because after an unknown answer it must read first
   * (`workflows/sendAtMostOnce.ts`). `activity`: Temporal retries. `poll`: Temporal retries, and attempts that only
   * return their slot also end, so attempts are not counted and only the step's deadline limits them.
   */
  readonly retriedBy: 'once' | 'activity' | 'poll';
}

/**
 * Every step waits at least five minutes for a service that is away, such as a control plane that is being redeployed.
 * The exceptions are a check, and a record, whose end the next release awaits.
 */
const READ_RETRY = {
  initialIntervalMs: 500,
  backoffCoefficient: 2,
  maximumIntervalMs: 15 * SECOND,
  maximumAttempts: 0,
};
/** A check that could not run is retried for half a minute, longer than a platform or an agent takes to restart. */
const CHECK_RETRY = { ...READ_RETRY, maximumAttempts: 7 };
const POLL_RETRY = { ...READ_RETRY, maximumIntervalMs: 5 * SECOND };
const WRITE_RETRY = { ...READ_RETRY, initialIntervalMs: SECOND };

const HEARTBEAT = { heartbeatMs: 10 * SECOND };
const READ = { retry: READ_RETRY, cancellation: 'TRY_CANCEL', retriedBy: 'activity' } as const;
const POLL = { ...HEARTBEAT, retry: READ_RETRY, cancellation: 'TRY_CANCEL', retriedBy: 'poll' } as const;
const SENT_ONCE = { retry: WRITE_RETRY, cancellation: 'ABANDON', retriedBy: 'once' } as const;
const RUNS_CHECKS = { startToCloseMs: 10 * MINUTE, scheduleToCloseMs: 15 * MINUTE };

/**
 * The deadlines, retries, heartbeat and cancellation of each step. `slipway.yaml` may override deadlines and retries.
 *
 * - `startToCloseMs` covers all calls that one attempt can make in sequence, each up to {@link LONGEST_CALL_MS}
 *   (tested: `test/activities/slowServices.test.ts`). A step without heartbeat makes one such call. Giving up on a
 *   PATCH too early is worse than waiting, because it may still be applied and must be looked for.
 * - `heartbeatMs` only limits silence. Heartbeats are sent beside the calls, every 2 s. The SDK throttles them for up
 *   to 8 of the 10 s, so a busy worker does not look dead.
 *
 * {@link coverChecks} extends the deadlines of steps that run checks, {@link patiently} those of a restore.
 *
 * A killed worker that restarts costs none of these times: its successor fails the activities that it held
 * (`temporal/server/predecessors`). A worker that dies with its machine costs 10 s of silence or 15 to 20 s of an
 * attempt. Add up to 5 s until a poll's next attempt (1 s for other steps), and 1 to 3 s for its queue of workflow
 * tasks (`worker.ts`, `WORKFLOW_TASK_TIMEOUT_MS`).
 */
export const STEPS: Readonly<Record<StepName, StepRow>> = {
  candidate: { ...READ, ...HEARTBEAT, startToCloseMs: 10 * MINUTE, scheduleToCloseMs: 30 * MINUTE },
  // A search by name reads every page of similar names.
  find: { ...READ, ...HEARTBEAT, startToCloseMs: 5 * MINUTE, scheduleToCloseMs: 15 * MINUTE },
  // Checks first that the artifact exists.
  create: { ...SENT_ONCE, ...HEARTBEAT, startToCloseMs: MINUTE, scheduleToCloseMs: 5 * MINUTE },
  baseline: { ...READ, ...HEARTBEAT, ...RUNS_CHECKS, retry: CHECK_RETRY },
  freeze: { ...READ, startToCloseMs: 10 * SECOND, scheduleToCloseMs: 5 * MINUTE },
  upload: {
    ...READ,
    ...HEARTBEAT,
    startToCloseMs: 10 * MINUTE,
    scheduleToCloseMs: 30 * MINUTE,
    // Five minutes of refused connections. Each attempt may send 200 MB.
    retry: { ...WRITE_RETRY, maximumAttempts: 24 },
  },
  patch: { ...SENT_ONCE, startToCloseMs: 20 * SECOND, scheduleToCloseMs: 5 * MINUTE },
  // One attempt polls for up to a minute and then returns its slot.
  deployed: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 30 * MINUTE, retry: POLL_RETRY },
  serving: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 5 * MINUTE, retry: POLL_RETRY },
  check: { ...READ, ...HEARTBEAT, ...RUNS_CHECKS, retry: CHECK_RETRY },
  soak: { ...POLL, ...RUNS_CHECKS },
  // Up to hours of model runs. Each run has its own deadline, and heartbeats show a dead worker: the next attempt
  // continues with the stored runs. An agent that does not answer is a finding of the judge, so retries are only for
  // the store and the control plane.
  judge: { ...POLL, startToCloseMs: DAY / 2, scheduleToCloseMs: DAY },
  // A release may wait for its turn, or for a freeze to end.
  promote: { ...POLL, startToCloseMs: 2 * MINUTE, scheduleToCloseMs: 30 * DAY, retry: POLL_RETRY },
  bake: { ...POLL, ...RUNS_CHECKS },
  // Giving up on a restore wakes a person, so it is retried longer than any other step.
  redeploy: { ...SENT_ONCE, startToCloseMs: 20 * SECOND, scheduleToCloseMs: 15 * MINUTE },
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
    // Up to four calls of 10 s each for GitHub. No workflow waits for it.
    startToCloseMs: 45 * SECOND,
    scheduleToCloseMs: 30 * MINUTE,
    retry: { ...READ_RETRY, initialIntervalMs: SECOND, maximumIntervalMs: MINUTE },
    cancellation: 'ABANDON',
    retriedBy: 'activity',
  },
};

/** The steps that poll: only their deadline limits them. */
export const POLLING_STEPS: readonly string[] = STEP_NAMES.filter((step) => STEPS[step].retriedBy === 'poll');

/** A step's policy with the overrides of `slipway.yaml`. Attempts of a poll are not limited. */
export function stepPolicy(step: StepName, overrides: StepOverrides): StepPolicy {
  const policy = overrideStep(STEPS[step], overrides[step]);
  return POLLING_STEPS.includes(step)
    ? { ...policy, retry: { ...policy.retry, maximumAttempts: 0 } }
    : policy;
}

/** The calls around each check: read the active revision before and after, record feedback, and store the answer. */
const CALLS_AROUND_CHECK = 4;

/** The fields of a check that determine how long it may take. */
type TimedCheck = Pick<Check, 'timeoutMs' | 'turns' | 'repeat' | 'evaluators' | 'dataset'>;

/** The calls around a conversation: create its thread, delete it, and delete that of a previous attempt. */
const CALLS_AROUND_CONVERSATION = 3;

/** How long one attempt of these checks may take in sequence, in milliseconds. */
function longestRoundMs(checks: readonly TimedCheck[]): number {
  const longest = checks.map((check) => {
    const calls = CALLS_AROUND_CHECK + (check.turns === undefined ? 0 : CALLS_AROUND_CONVERSATION);
    const { repeat = 1, timeoutMs, evaluators = [], dataset } = check;
    const rounds = dataset === undefined ? repeat : Math.ceil(dataset.rows / dataset.concurrency);
    // They are asked at once.
    const scoresMs = Math.max(0, ...evaluators.map(longestScoreMs));
    return rounds * (runsOfOne(check) * timeoutMs + calls * LONGEST_CALL_MS + scoresMs);
  });
  return longest.reduce((sum, ms) => sum + ms, LONGEST_CALL_MS);
}

/**
 * The overrides for a step that runs checks: its deadlines cover them, unless `slipway.yaml` sets its deadlines.
 * @param checks - the checks of one attempt.
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

/** The factor for the time and the attempts of each step of a restore. */
const RESTORE_PATIENCE = 2;

/** The overrides for a restore, with twice the time and attempts: giving up on it wakes a person. */
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
