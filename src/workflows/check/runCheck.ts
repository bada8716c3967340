import type { Activities, RevisionInput } from '../../activities/activities.ts';
import { budgetLeft, type ChecksBudget, type Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { scoresText } from '../../domain/check/evaluator.ts';
import { answeredText } from '../../domain/check/repetition.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { checkIdentity, type Finding } from '../../domain/restore/restoreDecision.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { type Journal, now, type StepDone } from '../journal.ts';

/** A revision under check, and the results so far. */
export class CheckedRevision {
  subject: RevisionInput;
  readonly agentUrl: string;
  /** How long a run took on the revision before, in milliseconds. */
  readonly expectedMs: number | undefined;
  /** The budget left for all its checks. `undefined`: they have no budget. */
  budget: ChecksBudget | undefined;
  #answered = false;
  #fellSilent = false;
  #failedCheck: string | null = null;

  constructor(subject: RevisionInput, agentUrl: string, budget?: ChecksBudget, expectedMs?: number) {
    this.subject = subject;
    this.agentUrl = agentUrl;
    this.budget = budget;
    this.expectedMs = expectedMs;
  }

  /** The check that failed, or that no call works any more; `null`: neither. */
  get finding(): Finding | null {
    if (this.#fellSilent) return { failedCheck: null, silent: true };
    const failedCheck = this.#failedCheck;
    return failedCheck === null ? null : { failedCheck, silent: !this.#answered };
  }

  begins(): void {
    this.#failedCheck = null;
    this.#fellSilent = false;
  }

  /** No call to the agent works any more, during a watch. */
  fallsSilent(): void {
    this.#fellSilent = true;
  }

  /** @param spent - what the check used; absent without a budget. */
  answers(spent?: Spent): void {
    this.#answered = true;
    this.#spend(spent);
  }

  fails(check: Check, error: unknown): void {
    const { code, canceled, spent } = explain(error);
    this.#spend(spent);
    if (!canceled && !SAYS_NOTHING.has(code)) this.#failedCheck = checkIdentity(check);
  }

  #spend(spent: Spent | undefined): void {
    if (this.budget !== undefined && spent !== undefined) this.budget = budgetLeft(this.budget, spent);
  }
}

/** Errors after which a check has no verdict: another revision answered, or the check was not decided. */
const SAYS_NOTHING: ReadonlySet<ErrorCode> = new Set([
  'SLIPWAY_NOT_SERVING',
  'SLIPWAY_REVISION_REPLACED',
  'SLIPWAY_CHECK_UNDECIDED',
  'SLIPWAY_CHECKS_BUDGET_SPENT',
  'SLIPWAY_EVALUATOR_FAILED',
]);

/**
 * Runs one check on a revision, with all its repetitions.
 * @throws SLIPWAY_CHECK_FAILED, SLIPWAY_CHECK_UNDECIDED, SLIPWAY_CHECKS_BUDGET_SPENT, SLIPWAY_EVALUATOR_FAILED.
 */
export async function runCheck(
  journal: Journal,
  checked: CheckedRevision,
  check: Check,
  step: 'check' | 'baseline' = 'check',
): Promise<void> {
  const { subject, agentUrl, budget, expectedMs } = checked;
  const run = async (activities: Activities): Promise<StepDone<undefined>> => {
    const { verdict, spent, attempt } = await activities.runCheck({
      ...subject,
      agentUrl,
      store: journal.store,
      check,
      expectedMs,
      budget,
      begunAt: check.dataset && now(),
      restoring: (journal.restoring && (check.evaluators ?? check.dataset) !== undefined) || undefined,
    });
    checked.answers(spent);
    journal.verdict(verdict);
    if (!verdict.passed) {
      const code =
        verdict.dataset?.decision === 'undecided' ? 'SLIPWAY_CHECK_UNDECIDED' : 'SLIPWAY_CHECK_FAILED';
      throw pipelineFailure(code, `check "${check.name}": ${verdict.reasons.join('; ')}`);
    }
    const scored = verdict.scores === undefined ? '' : `scored ${scoresText(verdict.scores)}; `;
    return { result: undefined, attempt, detail: `${scored}${answeredText(verdict)}` };
  };
  checked.begins();
  try {
    await journal.step(step, check.name, run, [check]);
  } catch (error) {
    checked.fails(check, error);
    throw error;
  }
}
