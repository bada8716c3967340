import { getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';

import { missedRevision } from '../domain/knownRevisions.ts';
import type { KnownRevision, RollbackRequest } from '../domain/release.ts';
import { restoreCandidates } from '../domain/restoreChoice.ts';
import { explain } from './failure.ts';
import type { Journal } from './journal.ts';
import { restoringSignal } from './messages.ts';
import type { RestoreOrder } from './restore.ts';

/**
 * Tells the target that its release is restoring, and which revision first: a rollback that does not say what it leaves
 * changes nothing meanwhile.
 */
export async function reportRestoring(journal: Journal, order: RestoreOrder): Promise<void> {
  const { parent } = workflowInfo();
  const [first] = restoreCandidates(order);
  if (parent === undefined || first === undefined) return;
  const { revisionId } = first;
  const { releaseId } = journal.progress;
  try {
    await getExternalWorkflowHandle(parent.workflowId).signal(restoringSignal, { releaseId, revisionId });
  } catch (error) {
    // A target that was terminated cannot be told, and takes no rollback either.
    journal.note({ phase: `could not tell the target about the restore: ${explain(error).message}` });
  }
}

/** Says that the revision that a person named does not serve in the end, and why; `undefined`: it does. */
export function missedText(
  journal: Journal,
  request: RollbackRequest | null,
  known: readonly KnownRevision[],
  serving: string,
): string | undefined {
  const missed = request === null ? undefined : missedRevision(request, known, serving);
  if (missed === undefined) return undefined;
  const failed = journal.progress.steps.find(({ restoring, status }) => restoring && status === 'failed');
  return `revision ${missed} was not reached${failed?.detail === undefined ? '' : `: ${failed.detail}`}; `;
}
