import { fitting } from '../bounds.ts';
import type { CheckVerdict, Progress, StepRecord } from './release.ts';

export function startingProgress(of: Pick<Progress, 'releaseId' | 'kind' | 'startedAt'>): Progress {
  return {
    ...of,
    phase: 'starting',
    deploymentId: null,
    revisionId: null,
    baseline: null,
    steps: [],
    verdicts: [],
    outcome: null,
    instructions: null,
    waiting: null,
    interventions: [],
  };
}

/** The limits for steps and verdicts in a release's result, as JSON. Temporal's limit for all is 2 MB. */
const STEPS_MAX_BYTES = 500_000;
const VERDICTS_MAX_BYTES = 500_000;

/** Limits the steps of a release: if there are too many, the oldest passed checks are dropped. */
export function boundedSteps(steps: readonly StepRecord[]): readonly StepRecord[] {
  return fitting(
    [...steps],
    STEPS_MAX_BYTES,
    ({ step, status }) => CHECKING.has(step) && ENDED_WELL.has(status),
  );
}

/** Limits the verdicts of a release: if there are too many, the oldest passed ones are dropped. */
export function boundedVerdicts(verdicts: readonly CheckVerdict[]): readonly CheckVerdict[] {
  return fitting(verdicts, VERDICTS_MAX_BYTES, ({ passed }) => passed);
}

const CHECKING: ReadonlySet<string> = new Set(['baseline', 'check']);
const ENDED_WELL: ReadonlySet<string> = new Set(['done', 'skipped']);
