import { DURATION_MAX_MS } from '../duration.ts';
import { REFERENCE, releaseRequestProblem, TARGET } from '../release/requestProblem.ts';
import { choice, object, optional, record, text, textLike, textWhere, whole } from '../release/shape.ts';
import { isRecord } from '../scalars.ts';
import { serviceUrlProblem } from '../target/targetSpec.ts';
import type { CommentSpec, PreviewJudge, PreviewTerms } from './preview.ts';

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

/** The problem of a push; `undefined`: it is valid. Checks its release like the target does. */
export function previewPushProblem(raw: unknown): string | undefined {
  if (!isRecord(raw)) return 'the push is not an object';
  return TERMS(raw['terms'], 'terms') ?? releaseRequestProblem(raw['request']);
}
