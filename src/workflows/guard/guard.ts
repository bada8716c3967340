import {
  ActivityCancellationType,
  getExternalWorkflowHandle,
  proxyActivities,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { GUARD_LATE_MS, guardActor, guardRequestId } from '../../domain/guard/guardPolicy.ts';
import type { GuardReport } from '../../domain/guard/guarding.ts';
import { breachText } from '../../domain/guard/measurement.ts';
import { guardQueue } from '../../domain/taskQueues.ts';
import { guardEndedSignal } from '../../messages/target.ts';
import type { GuardInput, GuardResult } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { shortSummary } from '../steps.ts';

/**
 * Guards a revision after its release: one activity measures until the guard's time is over. If a metric is worse, asks
 * the target for a rollback, as a person does. The target cancels it when a release or a rollback begins.
 */
export async function guard(input: GuardInput): Promise<GuardResult> {
  const report = await measure(input);
  setCurrentDetails(`**guard of ${input.releaseId}**: ${report.verdict}, ${report.note}`);
  if (report.verdict === 'preempted') return { report, answer: null };
  // First: the target accepts the rollback of a guard that has found its release worse, and of no other that has ended.
  await tellTarget(input.targetId, report);
  if (report.verdict !== 'worse' || report.breach === undefined) return { report, answer: null };
  return { report, answer: await askForRollback(input, breachText(report.breach)) };
}

async function measure({ releaseId, targetId: _, ...guarded }: GuardInput): Promise<GuardReport> {
  const leftMs = guarded.until + GUARD_LATE_MS - Date.now();
  if (leftMs <= 0)
    return { releaseId, at: now(), verdict: 'unknown', note: 'no worker ran until its time was long over' };
  const { guardRevision } = proxyActivities<Activities>({
    taskQueue: guardQueue(workflowInfo().taskQueue),
    // One round: what serves, the hour before, and each metric, which are asked at the same time.
    startToCloseTimeout: '2 minutes',
    scheduleToCloseTimeout: leftMs,
    heartbeatTimeout: '10 seconds',
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    // Rounds say themselves when the next is due. This is the pause after a worker that was lost in a round.
    retry: { initialInterval: '1 second', maximumInterval: Math.min(guarded.policy.everyMs, 60_000) },
    summary: shortSummary(`guard ${releaseId} on ${guarded.target.name}`),
  });
  try {
    const { verdict, note, breach } = await guardRevision(guarded);
    return { releaseId, at: now(), verdict, note, breach };
  } catch (error) {
    const { canceled, message } = explain(error);
    const verdict = canceled ? 'preempted' : 'unknown';
    const note = canceled ? 'a release or a rollback began, or a person canceled it in Temporal' : message;
    return { releaseId, at: now(), verdict, note };
  }
}

async function tellTarget(targetId: string, report: GuardReport): Promise<void> {
  try {
    await getExternalWorkflowHandle(targetId).signal(guardEndedSignal, report);
  } catch {
    // The target no longer exists. The result says what was found.
  }
}

/** @returns the target's answer, or why there is none. */
async function askForRollback(
  { target, targetId, releaseId, revisionId, policy }: GuardInput,
  reason: string,
): Promise<string> {
  const { rollBackTarget } = proxyActivities<Activities>({
    startToCloseTimeout: '35 seconds',
    // However long no worker runs: the target refuses the rollback if a release has begun since.
    scheduleToCloseTimeout: '30 days',
    heartbeatTimeout: '5 seconds',
    retry: { initialInterval: '200 milliseconds', maximumInterval: '1 minute' },
    summary: shortSummary(`roll ${target.name} back: ${reason}`),
  });
  const message = {
    ...guardActor(releaseId, reason),
    requestId: guardRequestId(targetId, releaseId),
    serving: revisionId,
    guard: releaseId,
    hold: policy.hold,
  };
  try {
    const { disposition, reason: why } = (await rollBackTarget({ target, message })).answer;
    return `${disposition}, ${why}`;
  } catch (error) {
    return explain(error).message;
  }
}
