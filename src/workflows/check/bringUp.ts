import { condition, setHandler } from '@temporalio/workflow';

import type { Activities, RevisionInput } from '../../activities/activities.ts';
import { budgetLeft, type ChecksBudget, type Spent } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { scoresText } from '../../domain/check/evaluator.ts';
import { answeredText } from '../../domain/check/repetition.ts';
import { LOOK_AGAIN_MS, revisionPhase, type RevisionSnapshot } from '../../domain/deployment/revision.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { checkIdentity, type Finding } from '../../domain/restore/restoreDecision.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import { readRevisionStatus, revisionStatusSignal, UNREADABLE } from '../../messages/revisionPoller.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { type Journal, now, type StepDone } from '../journal.ts';
import { stepPolicy } from '../steps.ts';

/** A revision of a deployment, and its checks. */
export interface Subject {
  readonly target: TargetSpec;
  readonly deploymentId: string;
  readonly revisionId: string;
}

/** A revision under check, and the results so far. */
export class Asked {
  subject: Subject;
  readonly agentUrl: string;
  /** How long a run took on the revision before, in milliseconds. */
  readonly expectedMs: number | undefined;
  /** The budget left for all its checks. `undefined`: they have no budget. */
  budget: ChecksBudget | undefined;
  #answered = false;
  #fellSilent = false;
  #failedCheck: string | null = null;

  constructor(subject: Subject, agentUrl: string, budget?: ChecksBudget, expectedMs?: number) {
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
    this.#takes(spent);
  }

  fails(check: Check, error: unknown): void {
    const { code, canceled, spent } = explain(error);
    this.#takes(spent);
    if (!canceled && !SAYS_NOTHING.has(code)) this.#failedCheck = checkIdentity(check);
  }

  #takes(spent: Spent | undefined): void {
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
 * Waits until one given revision, never "the newest", is deployed and serves.
 * @param overtakers - abandoned revisions that are not active: the wait ends if one becomes active.
 * @param latestBefore - as in `confirmServing`.
 * @returns the agent's address, and the revision that serves.
 * @throws SLIPWAY_REVISION_FAILED, SLIPWAY_STEP_TIMED_OUT, SLIPWAY_NOT_SERVING, SLIPWAY_REVISION_REPLACED, or the control
 *   plane's final answer.
 */
export async function bringUp(
  journal: Journal,
  subject: Subject,
  overtakers: readonly string[] = [],
  latestBefore?: string | null,
): Promise<{ readonly agentUrl: string; readonly revisionId: string }> {
  await journal.step('deployed', undefined, async (activities) => {
    const { revision, attempt } = await awaitDeployed(journal, activities, subject);
    if (revisionPhase(revision.status) !== 'deployed') {
      const why = revision.reason === null ? '' : `: ${revision.reason}`;
      throw pipelineFailure(
        'SLIPWAY_REVISION_FAILED',
        `revision ${revision.revisionId} ended ${revision.status}${why}`,
      );
    }
    return { result: undefined, attempt, detail: revision.status };
  });
  return journal.step('serving', undefined, async (activities) => {
    const { agentUrl, copyId, attempt } = await activities.confirmServing({
      ...subject,
      overtakers,
      latestBefore,
    });
    const { revisionId } = subject;
    return { result: { agentUrl, revisionId: copyId ?? revisionId }, attempt, detail: agentUrl };
  });
}

/**
 * Runs one check on a revision, with all its repetitions.
 * @throws SLIPWAY_CHECK_FAILED, SLIPWAY_CHECK_UNDECIDED, SLIPWAY_CHECKS_BUDGET_SPENT, SLIPWAY_EVALUATOR_FAILED.
 */
export async function runCheck(
  journal: Journal,
  asked: Asked,
  check: Check,
  step: 'check' | 'baseline' = 'check',
): Promise<void> {
  const { subject, agentUrl, budget, expectedMs } = asked;
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
    asked.answers(spent);
    journal.verdict(verdict);
    if (!verdict.passed) {
      const code =
        verdict.dataset?.decision === 'undecided' ? 'SLIPWAY_CHECK_UNDECIDED' : 'SLIPWAY_CHECK_FAILED';
      throw pipelineFailure(code, `check "${check.name}": ${verdict.reasons.join('; ')}`);
    }
    const scored = verdict.scores === undefined ? '' : `scored ${scoresText(verdict.scores)}; `;
    return { result: undefined, attempt, detail: `${scored}${answeredText(verdict)}` };
  };
  asked.begins();
  try {
    await journal.step(step, check.name, run, [check]);
  } catch (error) {
    asked.fails(check, error);
    throw error;
  }
}

/**
 * Waits until a revision is deployed or has failed. The activity polls for some seconds. Then the control plane's
 * poller reports each change of status, and the waiting workflow runs no activity.
 * @param activities - those of the step `deployed`.
 * @throws SLIPWAY_STEP_TIMED_OUT.
 */
async function awaitDeployed(
  journal: Journal,
  activities: Activities,
  subject: RevisionInput,
): Promise<{ readonly revision: RevisionSnapshot; readonly attempt: number }> {
  const { revisionId } = subject;
  const since = Date.now();
  const until = since + stepPolicy('deployed', journal.overrides).scheduleToCloseMs;
  let isSettled = false;
  const note = (status: string): void => {
    const says = `revision ${revisionId} is ${status}`;
    journal.note({ found: { says, since: now(), until: new Date(until).toISOString() } });
  };
  setHandler(
    revisionStatusSignal,
    (message) => {
      const report = readRevisionStatus(message);
      if (report?.revisionId !== revisionId) return;
      if (report.status === UNREADABLE || revisionPhase(report.status) !== 'pending') isSettled = true;
      else note(report.status);
    },
    { description: 'From the poller of the control plane alone: the status of a revision has changed' },
  );
  for (;;) {
    const { revision, attempt } = await activities.awaitDeployed({ ...subject, since, until });
    const { status } = revision;
    if (revisionPhase(status) !== 'pending') return { revision, attempt };
    const leftMs = until - Date.now();
    if (leftMs <= 0) {
      const reason = `not done before its deadline; at last: revision ${revisionId} is ${status}`;
      throw pipelineFailure('SLIPWAY_STEP_TIMED_OUT', reason, true, attempt);
    }
    note(status);
    await condition(() => isSettled, Math.min(leftMs, LOOK_AGAIN_MS));
    isSettled = false;
  }
}
