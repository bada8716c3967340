import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';

import type { Activities } from '../../activities/activities.ts';
import { guardsAgain, takeReport } from '../../domain/guard/targetGuard.ts';
import {
  GUARD_LATE_MS,
  guardActor,
  type GuardPlan,
  guardRequestId,
  guardWorkflowId,
} from '../../domain/guard/guardPolicy.ts';
import {
  endGuard,
  type GuardEnd,
  type Guarding,
  type GuardMessage,
  type GuardReport,
  isInForce,
  preemptGuard,
} from '../../domain/guard/guarding.ts';
import { breachText } from '../../domain/guard/measurement.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import type { NextWork } from '../../domain/target/targetState.ts';
import { settingsForRestore } from '../../domain/target/targetSpec.ts';
import { guardQueue } from '../../domain/taskQueues.ts';
import { guardEndedSignal, preemptGuardSignal } from '../../messages/target.ts';
import { type GuardInput, type GuardResult, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { shortSummary } from '../steps.ts';
import type { TargetCore } from '../target/targetCore.ts';

/**
 * Guards a revision after its release: one activity measures until the guard's time is over. If a metric is worse, asks
 * the target for a rollback, as a person does. The target preempts it before a release changes what serves, and when a
 * rollback begins. That is a signal, so that a cancellation is always a person's.
 */
export async function guard(input: GuardInput): Promise<GuardResult> {
  const whole = CancellationScope.current();
  const measuring = new CancellationScope();
  setHandler(preemptGuardSignal, () => measuring.cancel());
  const report: GuardReport = {
    releaseId: input.releaseId,
    ...(await measuring.run(() => measure(input, whole))),
  };
  setCurrentDetails(`**guard of ${input.releaseId}**: ${report.verdict}, ${report.note}`);
  // First: the target accepts the rollback of a guard that has found its release worse, and of no other that has ended.
  await CancellationScope.nonCancellable(() => tellTarget(input, report));
  if (report.verdict !== 'worse' || report.breach === undefined) return { report, answer: null };
  const answer = await askForRollback(input, report, breachText(report.breach));
  // Unless the target has accepted the rollback, it ends as canceled there.
  if (whole.consideredCancelled)
    await CancellationScope.nonCancellable(() => tellTarget(input, { ...report, ...canceled() }));
  return { report, answer };
}

const BY_A_PERSON = 'a person canceled it in Temporal';

function canceled(): GuardEnd {
  return { at: now(), verdict: 'canceled', note: BY_A_PERSON };
}

/** @param whole - canceled by a person alone. */
async function measure(
  { releaseId, targetId: _, ...guarded }: GuardInput,
  whole: CancellationScope,
): Promise<GuardEnd> {
  const leftMs = guarded.until + GUARD_LATE_MS - Date.now();
  if (leftMs <= 0)
    return { at: now(), verdict: 'unknown', note: 'no worker ran until its time was long over' };
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
    return { at: now(), verdict, note, breach };
  } catch (error) {
    const { canceled: isCanceled, message: note } = explain(error);
    if (!isCanceled) return { at: now(), verdict: 'unknown', note };
    if (whole.consideredCancelled) return canceled();
    return { at: now(), verdict: 'preempted', note: 'a release or a rollback began' };
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
  { target, targetId, recordStore, releaseId, revisionId, policy, since }: GuardInput,
  report: GuardReport,
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
    // The target may have been terminated or reset when it was told.
    report: { ...report, since },
    hold: policy.hold,
  };
  try {
    const { disposition, reason: why } = (await rollBackTarget({ target, recordStore, message })).answer;
    return `${disposition}, ${why}`;
  } catch (error) {
    const { canceled: isCanceled, message } = explain(error);
    return isCanceled ? BY_A_PERSON : message;
  }
}

/** How long a preempted guard may take to report, in milliseconds: no longer than a worker that has just been lost. */
const REPORTS_WITHIN_MS = 10_000;

/**
 * The guard of what a target released last. It is a child workflow that is started and abandoned: the target does not
 * wait for it, and may continue as new. A target has at most one.
 */
export class TargetGuard {
  readonly #target: TargetCore;
  #sending = 0;
  #started = Promise.resolve();
  /** The guard that was told that it is preempted, and has not reported since. */
  #unreported: Guarding | undefined;
  /** The release that was about to change what serves, and waits again. */
  #waiting: string | undefined;

  constructor(target: TargetCore) {
    this.#target = target;
  }

  /** Whether all guards have started, and the preempted ones know it. */
  get allSent(): boolean {
    return this.#sending === 0;
  }

  /** Waits for {@link allSent}. That is short, because only Temporal takes part. */
  async sent(): Promise<void> {
    if (!this.allSent) await condition(() => this.allSent);
  }

  /** Guards what a release with a guard has just released, or what was guarded and serves again or still. */
  async begin(work: NextWork, result: ReleaseResult): Promise<void> {
    // What is sent to the guard before must not reach the next one, which may have the same workflow id.
    await this.sent();
    if (work.kind === 'release') {
      const released = releasedGuard(work.request, result);
      if (released !== undefined) {
        this.#begin(result.releaseId, released.revisionId, released.plan, false);
        return;
      }
    }
    const rollback = work.kind === 'rollback' ? work.request : null;
    await this.#beginAgain(result, () =>
      guardsAgain(this.#target.state, workflowInfo().workflowId, result, rollback),
    );
  }

  /** Guards on while the release that was about to change what serves waits again, for a person or a freeze. */
  async resume(releaseId: string): Promise<void> {
    this.#waiting = releaseId;
    await this.sent();
    const { activeRevisionId: servingRevisionId } = this.#target.state;
    const unchanged = { servingRevisionId, steps: [], preemptedBy: null, endedAt: now() };
    await this.#beginAgain(unchanged, () => {
      const { state, running } = this.#target;
      if (this.#waiting !== releaseId || running?.releaseId !== releaseId) return false;
      if (state.guard?.changedBy !== releaseId || state.rollbacks.length > 0) return false;
      return guardsAgain(state, workflowInfo().workflowId, unchanged, null);
    });
  }

  async #beginAgain(
    { servingRevisionId: revisionId, endedAt }: Pick<ReleaseResult, 'servingRevisionId' | 'endedAt'>,
    isDue: () => boolean,
  ): Promise<void> {
    if (revisionId === null || !isDue()) return;
    await this.#reported();
    const { guard: guarding, guarded } = this.#target.state;
    if (guarding === undefined || guarded === undefined || !isDue()) return;
    this.#begin(guarding.releaseId, revisionId, { ...guarded, since: Date.parse(endedAt) }, true);
  }

  /** Waits shortly for a preempted guard's report: a person may have canceled or terminated it before it was told. */
  async #reported(): Promise<void> {
    const guarding = this.#unreported;
    if (guarding === undefined) return;
    const isOver = (): boolean => this.#unreported === undefined || this.#target.state.rollbacks.length > 0;
    await condition(isOver, REPORTS_WITHIN_MS);
    if (this.#unreported === guarding) await this.#tellPreempted(guarding);
  }

  /**
   * Takes the report of a guard, which its rollback carries, too.
   * @returns whether it says anything new.
   */
  take(report: GuardMessage): boolean {
    const { state } = this.#target;
    if (report.since === state.guarded?.since) this.#unreported = undefined;
    const next = takeReport(state, workflowInfo().workflowId, report, now());
    if (next !== state) this.#target.change(next);
    return next !== state;
  }

  #begin(releaseId: string, revisionId: string, guarded: GuardPlan, again: boolean): void {
    this.#unreported = undefined;
    const { state } = this.#target;
    const { workflowId: targetId } = workflowInfo();
    const until = guarded.since + guarded.policy.forMs;
    const workflowId = guardWorkflowId(targetId, releaseId);
    const guarding = { workflowId, releaseId, revisionId, until: new Date(until).toISOString() };
    this.#target.change({ ...state, guard: guarding, guarded });
    const input = { ...guarded, revisionId, until, releaseId, targetId };
    this.#started = this.#send(this.#start(workflowId, input, again));
  }

  /** Ends the guard, because a release or a rollback may change what serves. */
  preempt(by: string): void {
    this.#waiting = undefined;
    const { guard: guarding } = this.#target.state;
    if (guarding === undefined || !isInForce(guarding)) return;
    this.#target.change({ ...this.#target.state, guard: preemptGuard(guarding, by, now()) });
    if (guarding.ended !== undefined) return;
    void this.#send(this.#started.then(() => this.#tellPreempted(guarding)));
  }

  /**
   * Tells a guard that it is preempted. One that has ended has reported before that, unless a person terminated it or, at
   * that time, the target.
   */
  async #tellPreempted(guarding: Guarding): Promise<void> {
    const { workflowId, releaseId } = guarding;
    this.#unreported = guarding;
    try {
      const guardWorkflow = getExternalWorkflowHandle(workflowId);
      await CancellationScope.nonCancellable(() => guardWorkflow.signal(preemptGuardSignal));
    } catch {
      this.#unreported = undefined;
      this.#end(releaseId, 'unknown', 'its workflow has ended without a report');
    }
  }

  #send(sent: Promise<void>): Promise<void> {
    this.#sending++;
    return sent.finally(() => this.#sending--);
  }

  async #start(workflowId: string, input: GuardInput, again: boolean): Promise<void> {
    const { releaseId, target } = input;
    try {
      await CancellationScope.nonCancellable(() =>
        startChild(guard, {
          workflowId,
          args: [input],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
          parentClosePolicy: ParentClosePolicy.ABANDON,
          // No worker may have noticed yet that the one before was preempted.
          workflowIdReusePolicy: again ? 'TERMINATE_IF_RUNNING' : undefined,
          staticSummary: shortSummary(`guards ${releaseId} on ${target.name}`),
        }),
      );
    } catch (error) {
      // It was started before a reset.
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      this.#end(releaseId, 'unknown', explain(error).message);
    }
  }

  #end(releaseId: string, verdict: GuardEnd['verdict'], note: string): void {
    const { state } = this.#target;
    const { since } = state.guarded ?? {};
    if (since === undefined) return;
    this.#target.change({ ...state, guard: endGuard(state, { releaseId, since, at: now(), verdict, note }) });
  }
}

/** What a release with a guard has released, and how it is guarded; `undefined` if it has none, or released nothing. */
function releasedGuard(
  { guard: policy, target, recordStore }: ReleaseRequest,
  { outcome, deploymentId, servingRevisionId: revisionId, startedAt, endedAt }: ReleaseResult,
): { readonly revisionId: string; readonly plan: GuardPlan } | undefined {
  if (policy === undefined || outcome !== 'released') return undefined;
  if (deploymentId === null || revisionId === null) return undefined;
  const [since, releasedFrom] = [Date.parse(endedAt), Date.parse(startedAt)];
  const plan = { target: settingsForRestore(target), recordStore, deploymentId, policy, since, releasedFrom };
  return { revisionId, plan };
}
