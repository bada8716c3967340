import type { Selectable, Transaction } from 'kysely';

import { HttpProblem } from '../http/problem.ts';
import type { DeploymentsTable, RevisionsTable, Schema } from '../store/schema.ts';
import { recordChange } from './revisionLedger.ts';

/**
 * Makes it durable that somebody stopped a revision. Neither the contract nor its public relative has an endpoint for
 * this, only the status; decisions:
 * - A revision that waits, is built or is being deployed becomes `INTERRUPTED` at once, before its work has ended, so
 *   that no restart takes it up again. It can be redeployed later, if it was built.
 * - The active revision that is on its way once more goes on serving as it did: it is `DEPLOYED` again.
 * - Interrupting an `INTERRUPTED` revision again changes nothing.
 * - Whoever comes after the switch comes too late.
 * @throws HttpProblem 409 for a revision that has ended otherwise, with its status.
 */
export async function recordInterruption(
  trx: Transaction<Schema>,
  deployment: Selectable<DeploymentsTable>,
  revision: Selectable<RevisionsTable>,
): Promise<void> {
  const { id: revisionId } = revision;
  const status = await recordChange(trx, {
    revisionId,
    event: deployment.active_revision_id === revisionId ? 'keptServing' : 'interrupted',
    reason: 'It was interrupted on request.',
  });
  if (status !== undefined || revision.status === 'INTERRUPTED') return;
  throw new HttpProblem(
    409,
    `Revision ID ${revisionId} is ${revision.status}: there is nothing to interrupt.`,
  );
}
