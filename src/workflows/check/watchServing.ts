import type { RevisionInput } from '../../activities/activities.ts';
import type { ChecksBudget } from '../../domain/check/budget.ts';
import type { Check } from '../../domain/check/check.ts';
import { formatDuration } from '../../domain/duration.ts';
import { PASSING } from '../../domain/failure.ts';
import { explain, pipelineFailure } from '../failure.ts';
import type { Journal } from '../journal.ts';
import { activitiesOf, watchOverrides } from '../steps.ts';
import type { CheckedRevision } from './runCheck.ts';

export interface Watch {
  readonly agentUrl: string;
  readonly checks: readonly Check[];
  /** The budget of one round of the checks. Absent: none. */
  readonly budget?: ChecksBudget;
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly everyMs: number;
}

/**
 * Repeats the checks on a target's serving revision until a given time, and at least once at its end. One activity runs
 * all rounds, so they do not grow the history or the result.
 * @param checked - records the check that failed, or that the agent fell silent.
 * @throws SLIPWAY_CHECK_FAILED, SLIPWAY_CHECKS_BUDGET_SPENT, SLIPWAY_EVALUATOR_FAILED, SLIPWAY_REVISION_REPLACED; if the
 *   agent does not answer, the failure of its last call.
 */
export async function watchServing(
  journal: Journal,
  revision: RevisionInput,
  watch: Watch,
  step: 'soak' | 'bake',
  checked?: CheckedRevision,
): Promise<void> {
  const { name } = revision.target;
  const left = Math.max(watch.until - Date.now(), 0);
  const subject = left === 0 ? name : `${name} for ${formatDuration(left)}`;
  const overrides = watchOverrides(step, journal.overrides, watch.checks, left);
  journal.note({ watchUntil: new Date(watch.until).toISOString() });
  checked?.begins();
  try {
    await journal.step(step, subject, async () => {
      const activities = activitiesOf(step, overrides, `${step} ${subject}`);
      const { failed, attempt } = await activities.watchRevision({
        ...revision,
        ...watch,
        store: journal.store,
      });
      if (failed === null) return { result: undefined, attempt };
      journal.verdict(failed);
      const failure = pipelineFailure(
        'SLIPWAY_CHECK_FAILED',
        `check "${failed.check}" failed during the ${step} on "${name}": ${failed.reasons.join('; ')}`,
        false,
        attempt,
      );
      const check = watch.checks.find((one) => one.name === failed.check);
      if (check !== undefined) checked?.fails(check, failure);
      throw failure;
    });
  } catch (error) {
    if (PASSING.has(explain(error).code)) checked?.fallsSilent();
    throw error;
  }
}
