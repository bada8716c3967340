import { CancellationScope, currentUpdateInfo, setHandler, workflowInfo } from '@temporalio/workflow';

import { previewWorkflowId } from '../../domain/preview/preview.ts';
import {
  previewQuery,
  pushPreviewUpdate,
  readPush,
  readRemoval,
  removePreviewSignal,
} from '../../messages/preview.ts';
import { refuse } from '../failure.ts';
import type { Preview } from './preview.ts';

/** Registers the message handlers of a preview. */
export function handlePreviewMessages(subject: Preview): void {
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
      const by = readRemoval(raw);
      if (typeof by !== 'string') subject.askRemoval(by);
    },
    { description: 'Remove the preview now' },
  );
  setHandler(previewQuery, () => subject.state, { description: 'Deadline, releases, removal' });
}
