/** The limits of one process (contract 001, "Limits": not shown; all decisions). */
export const DEFAULT_RUN_LIMITS = {
  /** Runs that execute at the same time; others wait as `pending`. */
  concurrentRuns: 2_000,
  /** Runs that may be pending before new ones are rejected with 429. */
  pendingRuns: 10_000,
  /** The longest that any run may execute, in seconds; a run's own `timeout` can only be shorter. */
  runSeconds: 3_600,
};

export type RunLimits = typeof DEFAULT_RUN_LIMITS;
