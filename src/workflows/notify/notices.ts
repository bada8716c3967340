import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  log,
  ParentClosePolicy,
  startChild,
  uuid4,
} from '@temporalio/workflow';

import {
  type Notice,
  type NoticeContent,
  receiversOf,
  type ReceiverSpec,
} from '../../domain/notify/notice.ts';
import { noticeTitle } from '../../domain/notify/noticeText.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { StepOverrides } from '../../domain/step.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from '../../messages/workflowTypes.ts';
import { now } from '../journal.ts';
import { shortSummary } from '../steps.ts';
import { notice as noticeWorkflow } from './notice.ts';

/** The receivers, and the time limits for each. */
export type Recipients = Pick<ReleaseRequest, 'notify' | 'steps'>;

/**
 * Sends the notices of one workflow. Each notice is a child workflow that is started and abandoned: no workflow waits
 * for its result, so no receiver can fail or delay a release. If no receiver subscribes to an event, none is started.
 *
 * Started ones continue when this workflow ends or continues as new. Before that, wait until all have started: {@link
 * begun}.
 */
export class Notices {
  #beginning = 0;

  /** Notifies the receivers that subscribe to the event; none if `recipients` is null. */
  send(content: NoticeContent, recipients: Recipients | null): void {
    const receivers = receiversOf(recipients?.notify ?? [], content.event);
    if (receivers.length === 0) return;
    this.#beginning++;
    const steps = recipients?.steps.notify === undefined ? {} : { notify: recipients.steps.notify };
    void this.#begin({ ...content, version: 1, id: uuid4(), at: now() }, receivers, steps);
  }

  get allBegun(): boolean {
    return this.#beginning === 0;
  }

  /** Waits until all notices have started. That is short, because only Temporal takes part. */
  async begun(): Promise<void> {
    if (!this.allBegun) await condition(() => this.allBegun);
  }

  async #begin(notice: Notice, receivers: readonly ReceiverSpec[], steps: StepOverrides): Promise<void> {
    try {
      await CancellationScope.nonCancellable(() =>
        startChild(noticeWorkflow, {
          workflowId: `notice:${notice.id}`,
          args: [{ notice, receivers, steps, reportTo: notice.targetId }],
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
          parentClosePolicy: ParentClosePolicy.ABANDON,
          staticSummary: shortSummary(noticeTitle(notice)),
        }),
      );
    } catch (error) {
      // The id is unique: if it exists already, this notice was started before a reset.
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      log.warn('a notice could not be begun', { notice: notice.id, event: notice.event, error });
    } finally {
      this.#beginning--;
    }
  }
}
