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

/** The receivers, and how long each may take. */
export type Recipients = Pick<ReleaseRequest, 'notify' | 'steps'>;

/**
 * What one workflow has receivers told. Each notice is a workflow of its own, which is begun and left: nobody waits for
 * what comes of it, so that no receiver can fail or delay a release. Where nobody wants to be told of an event, nothing
 * is begun.
 *
 * Begun ones live on when this workflow ends or continues as new, but not those that have yet to begin: {@link begun}.
 */
export class Notices {
  #beginning = 0;

  /** Has the receivers told who want to be told of it; nobody where `told` is null. */
  send(content: NoticeContent, recipients: Recipients | null): void {
    const receivers = receiversOf(recipients?.notify ?? [], content.event);
    if (receivers.length === 0) return;
    this.#beginning++;
    const steps = recipients?.steps.notify === undefined ? {} : { notify: recipients.steps.notify };
    void this.#begin({ ...content, version: 1, id: uuid4(), at: now() }, receivers, steps);
  }

  /** Whether each of them has begun. */
  get allBegun(): boolean {
    return this.#beginning === 0;
  }

  /** Waits until each of them has begun: a moment, since it is Temporal alone that begins them. */
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
      // Its id is fresh: one that is there already is this very one, begun before a reset.
      if (error instanceof WorkflowExecutionAlreadyStartedError) return;
      log.warn('a notice could not be begun', { notice: notice.id, event: notice.event, error });
    } finally {
      this.#beginning--;
    }
  }
}
