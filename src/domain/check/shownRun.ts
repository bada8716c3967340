/** A judged run, as a verdict shows it. */
export interface ShownRun {
  readonly passed: boolean;
  /** Why it failed: one sentence for each expectation that was not met. */
  readonly reasons: readonly string[];
  /** The agent's answer, cut to a few hundred bytes. */
  readonly answer: string;
  /** The record in the artifact store with the whole answer. Absent: `answer` is the whole, or it was not stored. */
  readonly answerRecord?: string;
  readonly runId: string | null;
  readonly latencyMs: number;
  /** Whether the verdict was recorded on the run's trace. `null`: the check has no `feedbackKey`. */
  readonly feedbackRecorded: boolean | null;
}
