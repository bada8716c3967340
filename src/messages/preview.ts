import { defineQuery, defineSignal, defineUpdate } from './define.ts';

import { DURATION_MAX_MS } from '../domain/duration.ts';
import type {
  CommentSpec,
  PreviewAnswer,
  PreviewJudge,
  PreviewPush,
  PreviewSpec,
  PreviewState,
  PreviewTerms,
} from '../domain/preview/preview.ts';
import { previewWorkflowId } from '../domain/preview/previewName.ts';
import { REFERENCE, releaseRequestProblem, TARGET } from '../domain/release/requestProblem.ts';
import { choice, object, optional, record, text, textLike, textWhere, whole } from '../domain/shape.ts';
import { isRecord } from '../domain/scalars.ts';
import { attribute } from '../domain/searchAttributes.ts';
import { serviceUrlProblem } from '../domain/target/targetSpec.ts';
import type { Sender } from './fields.ts';
import { WORKFLOW_TASK_TIMEOUT_MS } from './workflowTypes.ts';

/** Release a push as the preview, and renew its deadline; answers when the release is queued. */
export const pushPreviewUpdate = defineUpdate<PreviewAnswer, [PreviewPush]>('pushPreview');
/** Remove the preview. `temporal workflow signal --name removePreview` is enough. */
export const removePreviewSignal = defineSignal<[Sender?]>('removePreview');
export const previewQuery = defineQuery<PreviewState>('preview');

/** Reads a push, and checks its release like the target does. @returns a sentence that says what is wrong with it. */
export function readPush(raw: unknown): PreviewPush | string {
  if (!isRecord(raw)) return 'the push is not an object';
  const problem = TERMS(raw['terms'], 'terms') ?? releaseRequestProblem(raw['request']);
  return problem ?? (raw as unknown as PreviewPush);
}

const TEXT = text(1_000);
const PR_MAX = 999_999_999;

const COMMENT = object<CommentSpec>(() => ({
  kind: choice<CommentSpec['kind']>({ github: true, gitlab: true }),
  apiUrl: textWhere(1_000, serviceUrlProblem),
  token: REFERENCE,
  repository: optional(textLike(REPOSITORY, 'the path of a repository')),
}));

/** A part of an address. It must not change the path around it. */
const REPOSITORY = /^[\w.-]{1,200}(?:\/[\w.-]{1,200}){1,20}$/u;

const JUDGE = object<PreviewJudge>(() => ({
  settings: record,
  inputs: (value, path) =>
    value === 'recorded' || isRecord(value) ? undefined : `"${path}" is neither "recorded" nor a file`,
  baseline: TARGET,
}));

const TERMS = object<PreviewTerms>(() => ({
  name: TEXT,
  pr: whole(1, PR_MAX),
  ttlMs: whole(1, DURATION_MAX_MS),
  comment: optional(COMMENT),
  judge: optional(JUDGE),
}));

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
