import { SlipwayError } from '../../domain/errors.ts';
import type { InterventionRecord } from '../../domain/intervention/intervention.ts';
import { startingProgress } from '../../domain/release/startingProgress.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';

/** The result of an action as a sentence. */
export function takenText(button: string, { note }: Pick<Intervened, 'note'>): string {
  return `${button}: ${note}.`;
}

/** The note of a message that was sent twice, if its release has ended since. */
export function takenBefore(
  interventions: readonly InterventionRecord[] = [],
  requestId: string,
): string | undefined {
  return interventions.find(({ id, taken }) => taken && id === requestId)?.note;
}

export function isWrongMoment(error: unknown): boolean {
  return error instanceof SlipwayError && error.code === 'SLIPWAY_WRONG_MOMENT';
}

/** Used for a progress that no worker reports. */
export const UNASKED = startingProgress({ releaseId: '', kind: 'release', startedAt: '' });
