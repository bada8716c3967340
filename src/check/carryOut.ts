import { type ChecksBudget, overBudget, type Spent } from '../domain/check/budget.ts';
import type { Check } from '../domain/check/check.ts';
import type { EvaluatorScores } from '../domain/check/evaluator.ts';
import type { DatasetVerdict, ShownRun } from '../domain/check/dataset.ts';
import { decisionOf, type Repetitions, repetitionsOf, repetitionsText } from '../domain/check/repetition.ts';
import { SlipwayError } from '../domain/errors.ts';
import { type Answered, askAgent, type CheckedAgent, type ConversationThread } from './askAgent.ts';
import { evaluate, type Evaluating } from './evaluate.ts';

/** The progress of a check. It is JSON, so that another process can continue it. */
export interface CheckProgress {
  readonly passed: number;
  readonly made: number;
  readonly spent: Spent;
  /** The repetition that the verdict shows: the first that failed, else the last. `null`: none yet. */
  readonly shown: ShownRun | null;
  /** What evaluators said so far. Absent: nothing. */
  readonly scores?: readonly EvaluatorScores[];
}

/** A check that is decided. */
export interface CarriedOut extends ShownRun {
  readonly repetitions?: Repetitions;
  readonly scores?: readonly EvaluatorScores[];
  readonly dataset?: DatasetVerdict;
}

export const NOTHING_MADE: CheckProgress = {
  passed: 0,
  made: 0,
  spent: { timeMs: 0, runs: 0, tokens: 0 },
  shown: null,
};

/** What carrying out a check needs. */
export interface CarryOutOptions {
  readonly agent: CheckedAgent;
  readonly check: Check;
  /** The progress of an earlier process. */
  readonly begun: CheckProgress;
  readonly budget: ChecksBudget | undefined;
  readonly evaluating: Evaluating;
  /** The thread of a repetition, by its number from 0. */
  readonly thread: (repetition: number) => ConversationThread;
  /** Stores the result of a repetition, and returns what its verdict shows. */
  readonly onAnswered: (answered: Answered) => Promise<ShownRun>;
  readonly onProgress: (progress: CheckProgress) => void;
  /** Called at the end with what was used, also of a check that is not decided. */
  readonly onSpent: (spent: Spent) => void;
  readonly signal: AbortSignal;
}

/**
 * Repeats a check until its verdict is decided.
 * @throws SLIPWAY_CHECKS_BUDGET_SPENT; what {@link askAgent} and {@link evaluate} throw.
 */
export async function carryOut(options: CarryOutOptions): Promise<CarriedOut> {
  const { agent, check, begun, budget, evaluating, thread, onAnswered, onProgress, onSpent, signal } =
    options;
  const { planned, needed } = repetitionsOf(check);
  const began = performance.now();
  let progress = begun;
  let { runs, tokens } = begun.spent;
  const spent = (): Spent => ({ timeMs: begun.spent.timeMs + performance.now() - began, runs, tokens });
  try {
    for (;;) {
      const repetitions = { passed: progress.passed, made: progress.made, planned, needed };
      const decision = decisionOf(repetitions);
      if (decision !== 'open' && progress.shown !== null) {
        return { ...verdictOf(decision, progress.shown, repetitions), scores: progress.scores };
      }
      const over = budget === undefined ? undefined : overBudget(budget, spent(), check);
      if (over !== undefined) throw budgetSpent(check, over, repetitions);
      const asked = await askAgent(agent, check, thread(progress.made), signal);
      runs += asked.runs;
      tokens += asked.tokens;
      const { answered, scores } = await evaluate(check, asked, progress, evaluating, signal);
      const shown = await onAnswered(answered);
      progress = {
        passed: progress.passed + (shown.passed ? 1 : 0),
        made: progress.made + 1,
        spent: spent(),
        shown: progress.shown?.passed === false ? progress.shown : shown,
        scores,
      };
      onProgress(progress);
    }
  } finally {
    onSpent(spent());
  }
}

function verdictOf(decision: 'passed' | 'failed', shown: ShownRun, repetitions: Repetitions): CarriedOut {
  if (repetitions.planned === 1) return shown;
  const passed = decision === 'passed';
  const reasons = passed ? [] : [repetitionsText(repetitions), ...shown.reasons];
  return { ...shown, passed, reasons, repetitions };
}

function budgetSpent({ name }: Check, over: string, repetitions: Repetitions): SlipwayError {
  const far = repetitions.made === 0 ? '' : `; ${repetitionsText(repetitions)}`;
  return new SlipwayError(
    'SLIPWAY_CHECKS_BUDGET_SPENT',
    `the budget of the checks has no room for "${name}": it takes ${over}${far}`,
    { hint: 'raise checksBudget in slipway.yaml, or ask fewer checks or repetitions' },
  );
}
