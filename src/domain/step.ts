import type { WholeNumber } from './scalars.ts';

/** The steps of a promotion, a release and a restore, in order. */
export const STEP_NAMES = [
  /** Read the targets of a promotion, and choose the candidate. */
  'candidate',
  /** Find the deployment by name, or read it by id. */
  'find',
  /** Create the deployment if there is none. */
  'create',
  /** Run the checks once on an unknown active revision, to decide whether it counts as verified. */
  'baseline',
  /** Check whether a freeze is in force. */
  'freeze',
  /** Request an upload URL and upload the tarball. */
  'upload',
  /** PATCH the deployment: the call that makes a revision. */
  'patch',
  /** Await `DEPLOYED`. */
  'deployed',
  /** Confirm that the deployment serves the revision. */
  'serving',
  /** Run a check. */
  'check',
  /** Let time pass, then check again. */
  'soak',
  /** Judge a promotion's candidate against what serves on `to`. */
  'judge',
  /** Submit the release to the target, and wait for its end. */
  'promote',
  /** Watch the promoted revision, with repeated checks. */
  'bake',
  /** Redeploy an earlier revision. */
  'redeploy',
  /** Watch for a late revision. */
  'watch',
  /** Write the release's record. */
  'record',
  /** Notify a receiver, in parallel to everything else. */
  'notify',
] as const;

/** @open */
export type StepName = (typeof STEP_NAMES)[number];

/** How a failed step is retried. */
export interface RetryPolicy {
  readonly initialIntervalMs: WholeNumber;
  readonly backoffCoefficient: number;
  readonly maximumIntervalMs: WholeNumber;
  /** 0: as often as the step's `scheduleToCloseMs` allows. */
  readonly maximumAttempts: WholeNumber;
}

export interface StepPolicy {
  /** The deadline of one attempt. */
  readonly startToCloseMs: WholeNumber;
  /** The deadline of all attempts, including the time between them. */
  readonly scheduleToCloseMs: WholeNumber;
  /** The longest silence of a step that reports its progress. After it Temporal considers the step's worker dead. */
  readonly heartbeatMs?: WholeNumber;
  readonly retry: RetryPolicy;
}

/** The parts of a step's policy that `slipway.yaml` may change. */
export interface StepOverride extends Partial<Omit<StepPolicy, 'retry'>> {
  readonly retry?: Partial<RetryPolicy>;
}

export type StepOverrides = Readonly<Partial<Record<StepName, StepOverride>>>;

/**
 * A step's policy with what `slipway.yaml` changes. If only one of two intervals is given, the other one follows,
 * because Temporal rejects a longest interval that is shorter than the first.
 */
export function overrideStep(policy: StepPolicy, override: StepOverride | undefined): StepPolicy {
  if (override === undefined) return policy;
  const { retry, ...deadlines } = override;
  const merged = { ...policy.retry, ...retry };
  const maximumIntervalMs =
    retry?.maximumIntervalMs === undefined
      ? Math.max(merged.maximumIntervalMs, merged.initialIntervalMs)
      : merged.maximumIntervalMs;
  const initialIntervalMs = Math.min(merged.initialIntervalMs, maximumIntervalMs);
  return { ...policy, ...deadlines, retry: { ...merged, initialIntervalMs, maximumIntervalMs } };
}

/** The step's own pause after its first, second … failed attempt, in milliseconds. */
export function backoffMs(retry: Omit<RetryPolicy, 'maximumAttempts'>, attempts: number): number {
  const interval = retry.initialIntervalMs * retry.backoffCoefficient ** (attempts - 1);
  return Math.min(interval, retry.maximumIntervalMs);
}

/** The longest time for the last attempt before a deadline and for handling its answer. */
const LAST_LOOK_MS = 30_000;

/** How long to wait for `Retry-After`. The pause leaves time for one more attempt. Deadlines in milliseconds. */
export function grantedPauseMs(askedMs: number, leftMs: number, deadlineMs: number): number {
  const room = Math.min(LAST_LOOK_MS, deadlineMs / 2);
  return leftMs > room ? Math.min(askedMs, leftMs - room) : askedMs;
}
