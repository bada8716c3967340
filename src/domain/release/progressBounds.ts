import { fitting } from '../bounds.ts';
import type { CheckVerdict, StepRecord } from './release.ts';

/** What steps and verdicts take at most, as JSON, in a release's result: one payload, of which Temporal takes 2 MB. */
const STEPS_MAX_BYTES = 500_000;
const VERDICTS_MAX_BYTES = 500_000;

/** The steps of a release as far as there is room: of too many, the checks that passed first are left out. */
export function boundedSteps(steps: readonly StepRecord[]): readonly StepRecord[] {
  return fitting(
    [...steps],
    STEPS_MAX_BYTES,
    ({ step, status }) => CHECKING.has(step) && ENDED_WELL.has(status),
  );
}

/** The verdicts of a release as far as there is room: of too many, those that passed first are left out. */
export function boundedVerdicts(verdicts: readonly CheckVerdict[]): readonly CheckVerdict[] {
  return fitting(verdicts, VERDICTS_MAX_BYTES, ({ passed }) => passed);
}

const CHECKING: ReadonlySet<string> = new Set(['baseline', 'check']);
const ENDED_WELL: ReadonlySet<string> = new Set(['done', 'skipped']);
