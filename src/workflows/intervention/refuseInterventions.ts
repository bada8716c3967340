import { setHandler, uuid4 } from '@temporalio/workflow';

import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import {
  INTERVENTION_SIGNALS,
  INTERVENTION_UPDATES,
  type InterventionMessage,
  readInterventionMessage,
} from '../../messages/release.ts';
import { refuse } from '../failure.ts';
import { type Journal, now } from '../journal.ts';

/**
 * Answers what people say to a rollback under way: it runs to its end whatever is said. An update is refused, and a
 * signal is recorded, with this moment as the reason.
 */
export function refuseInterventions(journal: Journal): void {
  const moment = (): string =>
    journal.progress.outcome === null
      ? 'a rollback is never stopped or held up halfway'
      : 'the rollback has ended';
  for (const kind of INTERVENTION_KINDS) {
    const refuseIt = (_message: InterventionMessage): never => refuse(moment(), 'SLIPWAY_WRONG_MOMENT');
    setHandler(INTERVENTION_UPDATES[kind], refuseIt, { validator: refuseIt });
    setHandler(INTERVENTION_SIGNALS[kind], (message) => {
      const id = uuid4();
      const said = readInterventionMessage(message, kind, 'signal', id);
      const record =
        typeof said === 'string'
          ? { id, kind, by: { who: 'unknown', from: 'signal' }, note: said }
          : { ...said, note: moment() };
      journal.intervention({ ...record, at: now(), taken: false });
    });
  }
}
