import { fitting } from '../bounds.ts';
import type { CheckVerdict, StepRecord } from './release.ts';

/**
 * What the steps of one release take at most in its result, and what its verdicts do, as JSON. The result travels as one
 * payload, of which Temporal takes 2 MB; what else is in it has bounds of its own.
 */
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
