import { CancellationScope } from '@temporalio/workflow';

import type { PreviewResult } from '../../domain/preview/preview.ts';
import type { PreviewInput } from '../../messages/workflowTypes.ts';
import { Preview } from './preview.ts';
import { handlePreviewMessages } from './previewMessages.ts';

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
