import { SlipwayError } from '../../domain/errors.ts';
import type { InterventionRecord } from '../../domain/intervention/intervention.ts';
import type { Progress } from '../../domain/release/release.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';

/** What came of what was said, in words. */
export function takenText(button: string, { note }: Pick<Intervened, 'note'>): string {
  return `${button}: ${note}.`;
}

/** The note of a message that was taken before it was sent again, which what it ended cannot answer any more. */
export function takenBefore(
  interventions: readonly InterventionRecord[] = [],
  requestId: string,
): string | undefined {
  return interventions.find(({ id, taken }) => taken && id === requestId)?.note;
}

export function isWrongMoment(error: unknown): boolean {
  return error instanceof SlipwayError && error.code === 'SLIPWAY_WRONG_MOMENT';
}

/** Where something stands of which no worker says more than that it exists. */
export const UNASKED: Progress = {
  releaseId: '',
  kind: 'release',
  phase: 'not known',
  startedAt: '',
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
