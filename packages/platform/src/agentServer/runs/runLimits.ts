/**
 * How much one agent server takes on (contract 001, "Limits": not shown; all decisions). Each process has its own: the
 * revisions of a deployment overlap only while one replaces the other.
 */
export interface RunLimits {
  /** Runs that execute at the same time; further ones wait as `pending`. Default 2,000. */
  readonly concurrentRuns: number;
  /** Runs that may be pending, for whatever reason, before new ones are refused with 429. Default 10,000. */
  readonly pendingRuns: number;
  /** The longest that any run may execute, in seconds; a run's own `timeout` can only be shorter. Default 3,600. */
  readonly runSeconds: number;
}

export const DEFAULT_RUN_LIMITS: RunLimits = {
  concurrentRuns: 2_000,
  pendingRuns: 10_000,
  runSeconds: 3_600,
};
