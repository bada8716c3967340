import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { guardsAgain } from '../../domain/guard/guardAgain.ts';
import {
  GUARD_LATE_MS,
  guardActor,
  type GuardedInput,
  guardRequestId,
  guardWorkflowId,
} from '../../domain/guard/guardPolicy.ts';
import {
  endGuard,
  type Guarding,
  type GuardReport,
  isInForce,
  preemptGuard,
} from '../../domain/guard/guarding.ts';
import { breachText } from '../../domain/guard/measurement.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import type { NextWork } from '../../domain/target/targetState.ts';
import { settingsForRestore } from '../../domain/target/targetSpec.ts';
import { guardQueue } from '../../domain/taskQueues.ts';
import { guardEndedSignal } from '../../messages/target.ts';
import { type GuardInput, type GuardResult, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { shortSummary } from '../steps.ts';
import type { TargetCore } from '../target/targetCore.ts';

/**
 * Guards a revision after its release: one activity measures until the guard's time is over. If a metric is worse, asks
 * the target for a rollback, as a person does. The target cancels it before a release changes what serves, and when a
 * rollback begins.
 */
export async function guard(input: GuardInput): Promise<GuardResult> {
  const report = await measure(input);
  setCurrentDetails(`**guard of ${input.releaseId}**: ${report.verdict}, ${report.note}`);
  // First: the target accepts the rollback of a guard that has found its release worse, and of no other that has ended.
  // Also if it was canceled: the target does not know it if a person did.
  await CancellationScope.nonCancellable(() => tellTarget(input, report));
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

async function tellTarget({ targetId, since }: GuardInput, report: GuardReport): Promise<void> {
  try {
    await getExternalWorkflowHandle(targetId).signal(guardEndedSignal, { ...report, since });
  } catch {
    // The target no longer exists. The result says what was found.
  }
}

/** @returns the target's answer, or why there is none. */
async function askForRollback(
  { target, targetId, recordStore, releaseId, revisionId, policy }: GuardInput,
  reason: string,
): Promise<string> {
  const { rollBackTarget } = proxyActivities<Activities>({
    startToCloseTimeout: '35 seconds',
    // However long no worker runs: the target refuses the rollback if a release has changed what serves since.
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
    const { disposition, reason: why } = (await rollBackTarget({ target, recordStore, message })).answer;
    return `${disposition}, ${why}`;
  } catch (error) {
    return explain(error).message;
  }
}

/**
 * The guard of what a target released last. It is a child workflow that is started and abandoned: the target does not
 * wait for it, and may continue as new. A target has at most one.
 */
export class TargetGuard {
  readonly #target: TargetCore;
  #beginning = 0;
  /** The cancellation of the guard before. It must not reach the next one, which has the same workflow id. */
  #canceled = Promise.resolve();

  constructor(target: TargetCore) {
    this.#target = target;
  }

  /** Whether all guards have started. */
  get allBegun(): boolean {
    return this.#beginning === 0;
  }

  /** Waits until all guards have started. That is short, because only Temporal takes part. */
  async begun(): Promise<void> {
    if (!this.allBegun) await condition(() => this.allBegun);
  }

  /** Guards what a release with a guard has just released, or what was guarded and serves again or still. */
  begin(work: NextWork, result: ReleaseResult): void {
    if (work.kind === 'release') {
      const released = releasedInput(work.request, result);
      if (released !== undefined) {
        this.#begin(result.releaseId, released, false);
        return;
      }
    }
    const { state } = this.#target;
    const { guard: guarding, guarded } = state;
    const { servingRevisionId: revisionId, endedAt } = result;
    if (guarding === undefined || guarded === undefined || revisionId === null) return;
    const rollback = work.kind === 'rollback' ? work.request : null;
    if (!guardsAgain(state, workflowInfo().workflowId, result, rollback)) return;
    this.#begin(guarding.releaseId, { ...guarded, revisionId, ...timeOf(guarded, endedAt) }, true);
  }

  #begin(releaseId: string, guarded: GuardedInput, again: boolean): void {
    const { state } = this.#target;
    const { workflowId: targetId } = workflowInfo();
    const { revisionId, until } = guarded;
    const workflowId = guardWorkflowId(targetId, releaseId);
    const guarding = { workflowId, releaseId, revisionId, until: new Date(until).toISOString() };
    this.#target.change({ ...state, guard: guarding, guarded });
    this.#beginning++;
    const input = { ...guarded, releaseId, targetId };
    void this.#start(workflowId, input, again).finally(() => this.#beginning--);
  }

  /** Ends the guard, because a release or a rollback may change what serves. */
  preempt(by: string): void {
    const { guard: guarding } = this.#target.state;
    if (guarding === undefined || !isInForce(guarding)) return;
    this.#set(preemptGuard(guarding, by, now()));
    if (guarding.ended === undefined) this.#canceled = cancel(guarding.workflowId);
  }

  async #start(workflowId: string, input: GuardInput, again: boolean): Promise<void> {
    const { releaseId, target, since } = input;
    try {
      if (again) await this.#canceled;
      await CancellationScope.nonCancellable(() =>
        startChild(guard, {
          workflowId,
          args: [input],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
          parentClosePolicy: ParentClosePolicy.ABANDON,
          // No worker may have noticed yet that the one before was canceled.
          workflowIdReusePolicy: again ? 'TERMINATE_IF_RUNNING' : undefined,
          staticSummary: shortSummary(`guards ${releaseId} on ${target.name}`),
        }),
      );
    } catch (error) {
      // It was started before a reset.
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      const ended = endGuard(this.#target.state, {
        releaseId,
        at: now(),
        verdict: 'unknown',
        note: explain(error).message,
        since,
      });
      if (ended !== undefined) this.#set(ended);
      return;
    }
    // A release may have begun before the guard had: the cancellation then found no workflow.
    if (this.#target.state.guard?.releaseId !== releaseId || this.#target.state.guard.ended !== undefined)
      await cancel(workflowId);
  }

  #set(guarding: Guarding): void {
    this.#target.change({ ...this.#target.state, guard: guarding });
  }
}

/** `undefined`: the request has no guard, or there is nothing to guard. */
function releasedInput(
  { guard: policy, target, recordStore }: ReleaseRequest,
  { outcome, deploymentId, servingRevisionId: revisionId, startedAt, endedAt }: ReleaseResult,
): GuardedInput | undefined {
  if (policy === undefined || outcome !== 'released') return undefined;
  if (deploymentId === null || revisionId === null) return undefined;
  const guarded = { target: settingsForRestore(target), recordStore, deploymentId, revisionId, policy };
  return { ...guarded, ...timeOf(guarded, endedAt), releasedFrom: Date.parse(startedAt) };
}

/** The whole time of a guard that begins. */
function timeOf(
  { policy: { forMs } }: Pick<GuardedInput, 'policy'>,
  begins: string,
): Pick<GuardedInput, 'since' | 'until'> {
  const since = Date.parse(begins);
  return { since, until: since + forMs };
}

async function cancel(workflowId: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(workflowId).cancel());
  } catch {
    // It has ended already.
  }
}
