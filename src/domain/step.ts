import type { WholeNumber } from './scalars.ts';

/** The steps of a promotion, a release and a restore, in the order in which they are taken. */
export const STEP_NAMES = [
  /** Look at the targets of a promotion, and choose what is promoted. */
  'candidate',
  /** Find the deployment by name, or read it by id. */
  'find',
  /** Create it where there is none. */
  'create',
  /** Run the checks on the revision that was active before, once, to know whether it is worth returning to. */
  'baseline',
  /** Look whether a freeze is in force. */
  'freeze',
  /** Request an upload URL and upload the tarball. */
  'upload',
  /** PATCH the deployment: the one call that makes a revision. */
  'patch',
  /** Await `DEPLOYED`. */
  'deployed',
  /** Confirm that the deployment serves the revision. */
  'serving',
  /** Run a check. */
  'check',
  /** Let time pass, then check again. */
  'soak',
  /** Judge a promotion's candidate against what serves where it is to go. */
  'judge',
  /** Have a target release what is promoted, and wait for the end of it. */
  'promote',
  /** Watch what was promoted, with the checks repeated. */
  'bake',
  /** Redeploy an earlier revision. */
  'redeploy',
  /** Look for a revision that came up after it was given up on. */
  'watch',
  /** Write the release's record. */
  'record',
  /** Notify a receiver, beside everything else. */
  'notify',
] as const;

/** @open */
export type StepName = (typeof STEP_NAMES)[number];

/** How a step that failed is retried. */
export interface RetryPolicy {
  readonly initialIntervalMs: WholeNumber;
  readonly backoffCoefficient: number;
  readonly maximumIntervalMs: WholeNumber;
  /** 0: as often as the step's `scheduleToCloseMs` allows. */
  readonly maximumAttempts: WholeNumber;
}

/** A step's deadlines and retries. */
export interface StepPolicy {
  /** The deadline of one attempt. */
  readonly startToCloseMs: WholeNumber;
  /** The deadline of all attempts, including the time between them. */
  readonly scheduleToCloseMs: WholeNumber;
  /** The longest silence of a step that reports its progress. After it Temporal considers the step's worker dead. */
  readonly heartbeatMs?: WholeNumber;
  readonly retry: RetryPolicy;
}

/** What `slipway.yaml` may change of a step's policy. */
export interface StepOverride {
  readonly startToCloseMs?: number;
  readonly scheduleToCloseMs?: number;
  readonly heartbeatMs?: number;
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

/** What the last look before a deadline may take, with what is done about its answer. */
const LAST_LOOK_MS = 30_000;

/**
 * How long to wait for a service that asked for a pause (`Retry-After`): as long as it asked, but before the deadline
 * never so long that no time is left for one more attempt. Both deadlines in milliseconds.
 */
export function grantedPauseMs(askedMs: number, leftMs: number, deadlineMs: number): number {
  const room = Math.min(LAST_LOOK_MS, deadlineMs / 2);
  return leftMs > room ? Math.min(askedMs, leftMs - room) : askedMs;
}
