import { CancellationScope, currentUpdateInfo, setHandler, workflowInfo } from '@temporalio/workflow';

import { type PreviewResult, previewWorkflowId } from '../../domain/preview/preview.ts';
import { readSender } from '../../messages/fields.ts';
import { previewQuery, pushPreviewUpdate, readPush, removePreviewSignal } from '../../messages/preview.ts';
import type { PreviewInput } from '../../messages/workflowTypes.ts';
import { refuse } from '../failure.ts';
import { Preview } from './preview.ts';

/**
 * Owns one preview, the deployment of a pull request. It releases each push through the preview's target, and removes
 * everything at the deadline, on request, or on cancellation. No CI job has to run for that.
 */
export function preview(input: PreviewInput): Promise<PreviewResult> {
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(() => {
    const subject = new Preview(input);
    handlePreviewMessages(subject);
    void root.cancelRequested.catch(() =>
      subject.askRemoval({ who: 'unknown', from: 'temporal', reason: 'its workflow was canceled' }),
    );
    return subject.run();
  });
}

function handlePreviewMessages(subject: Preview): void {
  setHandler(
    pushPreviewUpdate,
    (push) => {
      const id = currentUpdateInfo()?.id ?? '';
      // A cancellation removes the preview, but does not interrupt a push in progress.
      return CancellationScope.nonCancellable(() => subject.push(id, push));
    },
    {
      description: 'Release a push as the preview, and renew its deadline',
      validator: (raw) => {
        const push = readPush(raw);
        if (typeof push === 'string') refuse(push);
        const { workflowId } = workflowInfo();
        if (previewWorkflowId(push.request.target) !== workflowId)
          refuse(`the release goes to another deployment than that of ${workflowId}`);
      },
    },
  );
  setHandler(
    removePreviewSignal,
    (raw) => {
      const by = readSender(raw, 'signal');
      if (typeof by !== 'string') subject.askRemoval(by);
    },
    { description: 'Remove the preview now' },
  );
  setHandler(previewQuery, () => subject.state, { description: 'Deadline, releases, removal' });
}
