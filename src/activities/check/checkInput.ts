import type { ChecksBudget, Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import type { Instant } from '../../domain/scalars.ts';

/** What a check calls and where it stores answers. */
export interface CheckedAt {
  readonly agentUrl: string;
  /** The artifact store with datasets, for the results of their rows, and for answers that are too long for a verdict. */
  readonly store: string;
}

/** A check to run. Rows of a dataset count as repetitions; the artifact store has their results. */
export interface CheckInput extends CheckedAt {
  readonly check: Check;
  /** How long a run of a check took on the revision before, in milliseconds. Absent: that is not known. */
  readonly expectedMs?: number | undefined;
  /** What the check may spend. Absent: no limit. */
  readonly budget?: ChecksBudget;
  /** What it had spent when its deadline passed while no worker ran. Absent: nothing. */
  readonly spent?: Spent;
  /** When the workflow first began this check over a dataset. It may begin again, and continues the results then. */
  readonly begunAt?: Instant | undefined;
  /** Absent: not restored. When restored, undecided datasets pass and evaluators without a score are ignored. */
  readonly restoring?: true;
}
