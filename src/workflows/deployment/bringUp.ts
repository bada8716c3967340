import { condition, setHandler } from '@temporalio/workflow';

import type { Activities, RevisionInput } from '../../activities/activities.ts';
import { LOOK_AGAIN_MS, revisionPhase, type RevisionSnapshot } from '../../domain/deployment/revision.ts';
import { stepPolicy } from '../../domain/stepTable.ts';
import { readRevisionStatus, revisionStatusSignal, UNREADABLE } from '../../messages/revisionPoller.ts';
import { pipelineFailure } from '../failure.ts';
import { type Journal, now } from '../journal.ts';

/**
 * Waits until one given revision, never "the newest", is deployed and serves.
 * @param overtakers - abandoned revisions that are not active: the wait ends if one becomes active.
 * @param latestBefore - as in `confirmServing`.
 * @returns the agent's address, and the revision that serves.
 * @throws SLIPWAY_REVISION_FAILED, SLIPWAY_STEP_TIMED_OUT, SLIPWAY_NOT_SERVING, SLIPWAY_REVISION_REPLACED, or the control
 *   plane's final answer.
 */
export async function bringUp(
  journal: Journal,
  subject: RevisionInput,
  overtakers: readonly string[] = [],
  latestBefore?: string | null,
): Promise<{ readonly agentUrl: string; readonly revisionId: string }> {
  await journal.step('deployed', undefined, async (activities) => {
    const { revision, attempt } = await awaitDeployed(journal, activities, subject);
    if (revisionPhase(revision.status) !== 'deployed') {
      const why = revision.reason === null ? '' : `: ${revision.reason}`;
      throw pipelineFailure(
        'SLIPWAY_REVISION_FAILED',
        `revision ${revision.revisionId} ended ${revision.status}${why}`,
      );
    }
    return { result: undefined, attempt, detail: revision.status };
  });
  return journal.step('serving', undefined, async (activities) => {
    const { agentUrl, copyId, attempt } = await activities.confirmServing({
      ...subject,
      overtakers,
      latestBefore,
    });
    const { revisionId } = subject;
    return { result: { agentUrl, revisionId: copyId ?? revisionId }, attempt, detail: agentUrl };
  });
}

/**
 * Waits until a revision is deployed or has failed. The activity polls for some seconds. Then the control plane's
 * poller reports each change of status, and the waiting workflow runs no activity.
 * @param activities - those of the step `deployed`.
 * @throws SLIPWAY_STEP_TIMED_OUT.
 */
async function awaitDeployed(
  journal: Journal,
  activities: Activities,
  subject: RevisionInput,
): Promise<{ readonly revision: RevisionSnapshot; readonly attempt: number }> {
  const { revisionId } = subject;
  const since = Date.now();
  const until = since + stepPolicy('deployed', journal.overrides).scheduleToCloseMs;
  let isSettled = false;
  const note = (status: string): void => {
    const says = `revision ${revisionId} is ${status}`;
    journal.note({ found: { says, since: now(), until: new Date(until).toISOString() } });
  };
  setHandler(
    revisionStatusSignal,
    (message) => {
      const report = readRevisionStatus(message);
      if (report?.revisionId !== revisionId) return;
      if (report.status === UNREADABLE || revisionPhase(report.status) !== 'pending') isSettled = true;
      else note(report.status);
    },
    { description: 'From the poller of the control plane alone: the status of a revision has changed' },
  );
  for (;;) {
    const { revision, attempt } = await activities.awaitDeployed({ ...subject, since, until });
    const { status } = revision;
    if (revisionPhase(status) !== 'pending') return { revision, attempt };
    const leftMs = until - Date.now();
    if (leftMs <= 0) {
      const reason = `not done before its deadline; at last: revision ${revisionId} is ${status}`;
      throw pipelineFailure('SLIPWAY_STEP_TIMED_OUT', reason, true, attempt);
    }
    note(status);
    await condition(() => isSettled, Math.min(leftMs, LOOK_AGAIN_MS));
    isSettled = false;
  }
}
