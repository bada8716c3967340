import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';

import { guardWorkflowId } from '../../domain/guard/guardPolicy.ts';
import { endGuard, type Guarding } from '../../domain/guard/guarding.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import { settingsForRestore } from '../../domain/target/targetSpec.ts';
import { type GuardInput, WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { shortSummary } from '../steps.ts';
import type { TargetCore } from '../target/targetCore.ts';
import { guard } from './guard.ts';

/**
 * The guard of what a target released last. It is a child workflow that is started and abandoned: the target does not
 * wait for it, and may continue as new. A target has at most one: it ends the guard when the next work begins.
 */
export class TargetGuard {
  readonly #target: TargetCore;
  #beginning = 0;

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

  /** Guards what a release with a guard has just released. */
  begin(request: ReleaseRequest, result: ReleaseResult): void {
    const input = guardInput(request, result);
    if (input === undefined) return;
    const { releaseId, revisionId, until } = input;
    const workflowId = guardWorkflowId(workflowInfo().workflowId, releaseId);
    this.#set({ workflowId, releaseId, revisionId, until: new Date(until).toISOString() });
    this.#beginning++;
    void this.#start(workflowId, input).finally(() => this.#beginning--);
  }

  /** Ends the guard, because other work begins. */
  preempt(by: string): void {
    const { guard: guarding } = this.#target.state;
    if (guarding === undefined || guarding.ended !== undefined) return;
    this.#set({ ...guarding, ended: { at: now(), verdict: 'preempted', note: `${by} began` } });
    void cancel(guarding.workflowId);
  }

  async #start(workflowId: string, input: GuardInput): Promise<void> {
    const { releaseId, target } = input;
    try {
      await CancellationScope.nonCancellable(() =>
        startChild(guard, {
          workflowId,
          args: [input],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: shortSummary(`guards ${releaseId} on ${target.name}`),
        }),
      );
    } catch (error) {
      // It was started before a reset.
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      const { guard: guarding } = this.#target.state;
      const ended = endGuard(guarding, {
        releaseId,
        at: now(),
        verdict: 'unknown',
        note: explain(error).message,
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
function guardInput(
  { guard: policy, target }: ReleaseRequest,
  { releaseId, outcome, deploymentId, servingRevisionId, startedAt, endedAt }: ReleaseResult,
): GuardInput | undefined {
  if (policy === undefined || outcome !== 'released') return undefined;
  if (deploymentId === null || servingRevisionId === null) return undefined;
  const since = Date.parse(endedAt);
  return {
    releaseId,
    targetId: workflowInfo().workflowId,
    deploymentId,
    policy,
    since,
    target: settingsForRestore(target),
    revisionId: servingRevisionId,
    until: since + policy.forMs,
    releasedFrom: Date.parse(startedAt),
  };
}

async function cancel(workflowId: string): Promise<void> {
  try {
    await CancellationScope.nonCancellable(() => getExternalWorkflowHandle(workflowId).cancel());
  } catch {
    // It has ended already.
  }
}
