import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import {
  previewWorkflowId,
  type PreviewAnswer,
  type PreviewPush,
  type PreviewSpec,
  type PreviewState,
} from '../domain/preview/preview.ts';
import { previewPushProblem } from '../domain/preview/previewProblem.ts';
import { attribute } from '../domain/searchAttributes.ts';
import type { Sender } from './fields.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** Release a push as the preview, and renew its deadline; answers when the release is queued. */
export const pushPreviewUpdate = defineUpdate<PreviewAnswer, [PreviewPush]>('pushPreview');
/** Remove the preview. `temporal workflow signal --name removePreview` is enough. */
export const removePreviewSignal = defineSignal<[Sender?]>('removePreview');
/** The state of the preview. */
export const previewQuery = defineQuery<PreviewState>('preview');

/** Reads a push. @returns a sentence that says what is wrong with it. */
export function readPush(raw: unknown): PreviewPush | string {
  return previewPushProblem(raw) ?? (raw as PreviewPush);
}

/** The options under which a preview's workflow is started, by the first message that is sent to it. */
export function previewStart(spec: PreviewSpec, taskQueue: string) {
  const { target, pr, name } = spec;
  return {
    workflowId: previewWorkflowId(target),
    taskQueue,
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    workflowIdConflictPolicy: 'USE_EXISTING' as const,
    args: [{ spec }] as [{ readonly spec: PreviewSpec }],
    typedSearchAttributes: [attribute('target', target.name)],
    staticSummary: `preview ${name} of #${pr}: ${target.deployment}`,
  };
}
