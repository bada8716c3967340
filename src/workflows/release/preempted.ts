import type { SignalDefinition } from '@temporalio/common';
import { condition, getExternalWorkflowHandle, setHandler, uuid4, workflowInfo } from '@temporalio/workflow';

import { missedRevision } from '../../domain/deployment/revision.ts';
import type { KnownRevision, RollbackRequest } from '../../domain/release/release.ts';
import { restoreCandidates } from '../../domain/restore/restoreDecision.ts';
import { targetOf } from '../../domain/target/targetSpec.ts';
import { quarantinedSignal, readPreemption } from '../../messages/release.ts';
import { changingSignal, restoringSignal, waitsAgainSignal } from '../../messages/target.ts';
import { explain } from '../failure.ts';
import { type Journal, now } from '../journal.ts';
import { readActive, type RestoreOrder } from '../restore/restore.ts';
import type { Run } from './run.ts';

/** Signals to a target that guards a revision that its release is about to change what serves. */
export async function reportChanging({ input, journal }: Run): Promise<void> {
  if (input.endsGuard === true) await signalTarget(journal, changingSignal, input.releaseId);
}

/** Signals to that target that its release waits instead, for a person or the end of a freeze. */
export async function reportWaitingAgain({ input, journal }: Run): Promise<void> {
  if (input.endsGuard === true) await signalTarget(journal, waitsAgainSignal, input.releaseId);
}

/**
 * Signals to the target that its release is restoring, and which revision it tries first. During the restore, a
 * rollback that does not name the revision to leave changes nothing.
 */
export async function reportRestoring(journal: Journal, order: RestoreOrder): Promise<void> {
  const [first] = restoreCandidates(order);
  if (first === undefined) return;
  const { revisionId } = first;
  await signalTarget(journal, restoringSignal, { releaseId: journal.progress.releaseId, revisionId });
}

async function signalTarget<T>(journal: Journal, signal: SignalDefinition<[T]>, message: T): Promise<void> {
  const { parent } = workflowInfo();
  if (parent === undefined) return;
  try {
    await getExternalWorkflowHandle(parent.workflowId).signal(signal, message);
  } catch (error) {
    const { canceled, message: reason } = explain(error);
    if (canceled) throw error;
    // The target was terminated: it cannot receive the signal, and it accepts no rollback either.
    journal.note({ phase: `could not signal "${signal.name}" to the target: ${reason}` });
  }
}

/** Handles the target's signal to make way for a rollback, or never to restore the revision that a person leaves. */
export async function preempt(run: Run, message: unknown): Promise<void> {
  const { interventions } = run;
  const preemption = readPreemption(message);
  if (typeof preemption === 'string') {
    ignorePreemption(run, preemption);
    return;
  }
  const { goesOn, overtaker, ...rollback } = preemption;
  // No person has left a late revision.
  if (rollback.from !== undefined && overtaker === undefined) run.left.push(rollback.from);
  if (goesOn === true) return;
  if (!interventions.goesForward()) {
    ignorePreemption(run, 'the release does not go forward any more');
    return;
  }
  if (isSoaking(run, rollback.to)) {
    interventions.endSoak(rollback);
    return;
  }
  if (overtaker !== undefined && !(await hasToMakeWay(run, overtaker))) return;
  run.proof.begin(rollback, run.journal.store, targetOf(workflowInfo().workflowId));
  run.preemptedBy ??= rollback;
  run.forward.cancel();
}

/**
 * Handles the target's signal that says which revisions are in quarantine now.
 * @param note - called with their ids.
 */
export function handleQuarantined(journal: Journal, note: (revisionIds: readonly string[]) => void): void {
  setHandler(quarantinedSignal, (message: unknown) => {
    if (Array.isArray(message)) note(message.filter((id) => typeof id === 'string'));
    else ignorePreemption({ journal }, 'the quarantined revisions are not a list');
  });
}

function ignorePreemption({ journal }: Pick<Run, 'journal'>, note: string): void {
  const by = { who: 'unknown', from: 'signal' };
  journal.intervention({ id: uuid4(), kind: 'preempt', by, at: now(), taken: false, note });
}

/** Whether a revision is the release's own and has passed its checks: then going to it only ends the release. */
function isSoaking({ revisionId, journal }: Run, to: string | undefined): boolean {
  return to === revisionId && journal.progress.steps.some(({ step }) => step === 'soak');
}

/** Whether the release must make way for the rollback from a late revision: it waits for a person or a freeze. */
async function hasToMakeWay(run: Run, overtaker: string): Promise<boolean> {
  const { journal, request, interventions } = run;
  const isWaiting = (): boolean => journal.progress.waiting !== null;
  for (;;) {
    await condition(() => isWaiting() || !interventions.goesForward());
    if (!interventions.goesForward()) return false;
    const { deploymentId } = run;
    const active =
      deploymentId === null ? overtaker : await readActive(journal, request.target, deploymentId);
    if (active !== undefined && active !== overtaker) return false;
    if (isWaiting() && interventions.goesForward()) return true;
  }
}

/** Explains why the revision that a person named does not serve in the end; empty if it does. */
export function missedText(
  journal: Journal,
  request: RollbackRequest | null,
  known: readonly KnownRevision[],
  serving: string,
): string {
  const missed = request === null ? undefined : missedRevision(request, known, serving);
  if (missed === undefined) return '';
  const failed = journal.progress.steps.find(({ restoring, status }) => restoring && status === 'failed');
  return `revision ${missed} was not reached${failed?.detail === undefined ? '' : `: ${failed.detail}`}; `;
}
