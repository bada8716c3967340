import { formatDuration } from '../duration.ts';
import { isRecord, type WholeNumber } from '../scalars.ts';
import { type Check, runsOfOne } from './check.ts';
import type { Dataset } from './dataset.ts';
import { repetitionsOf } from './repetition.ts';

/** What all checks of one pass may take together. What is absent is not bounded. */
export interface ChecksBudget {
  readonly timeMs?: WholeNumber;
  /** Runs of the agent. */
  readonly runs?: WholeNumber;
  /** Tokens that the agent's messages report. */
  readonly tokens?: WholeNumber;
}

export type Spent = Required<ChecksBudget>;

export function isSpent(value: unknown): value is Spent {
  return isRecord(value) && ['timeMs', 'runs', 'tokens'].every((of) => typeof value[of] === 'number');
}

export function budgetLeft(budget: ChecksBudget, spent: Spent): ChecksBudget {
  const left = (of: keyof ChecksBudget): number | undefined =>
    budget[of] && Math.max(budget[of] - Math.ceil(spent[of]), 0);
  return { timeMs: left('timeMs'), runs: left('runs'), tokens: left('tokens') };
}

/** What a budget has no room for, if a check is asked once more: in words; `undefined`: it has. */
export function overBudget(budget: ChecksBudget, spent: Spent, check: Check): string | undefined {
  const { timeMs = Infinity, runs = Infinity, tokens = Infinity } = budget;
  const more = runsOfOne(check);
  if (spent.runs + more > runs) return `${more} more of the ${runs} runs that were left`;
  if (spent.timeMs >= timeMs) return `more than the ${formatDuration(timeMs)} that were left`;
  return spent.tokens >= tokens ? `more than the ${tokens} tokens that were left` : undefined;
}

/** How many runs checks take at least, if all of them pass. */
export function fewestRuns(checks: readonly CountedCheck[]): number {
  return checks.reduce(
    (sum, check) => sum + (check.dataset?.rows ?? runsOfOne(check) * repetitionsOf(check).needed),
    0,
  );
}

/** The fields of a check that say how many runs it takes. */
type CountedCheck = Pick<Check, 'turns' | 'repeat' | 'pass'> & { readonly dataset?: Pick<Dataset, 'rows'> };
