import { SlipwayError } from '../../domain/errors.ts';
import type { InterventionRecord } from '../../domain/intervention/intervention.ts';
import type { Intervened } from '../../temporal/client/intervention/interventionClient.ts';

interface Sending {
  readonly button: string;
  readonly requestId: string;
  readonly send: () => Promise<Pick<Intervened, 'note'>>;
  readonly ended: () => Promise<readonly InterventionRecord[] | undefined>;
}

/**
 * Sends an intervention. If a person pressed twice and the first message ended the release, the result is that of the
 * first.
 */
export async function sendOnce({ button, requestId, send, ended }: Sending): Promise<string> {
  try {
    return `${button}: ${(await send()).note}.`;
  } catch (error) {
    if (!(error instanceof SlipwayError) || error.code !== 'SLIPWAY_WRONG_MOMENT') throw error;
    const before = (await ended())?.find(({ id, taken }) => taken && id === requestId);
    if (before === undefined) throw error;
    return `${button}: ${before.note}.`;
  }
}
