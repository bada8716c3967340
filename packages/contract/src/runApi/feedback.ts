import { z } from 'zod';

import { CONTRACT, withCommon } from '../endpoint.ts';
import { COMMENT_MAX } from '../limits.ts';
import { JsonObject, nonEmptyText, text } from '../scalars.ts';

/** Each requested feedback key with its pre-signed link (contract 001, "Feedback object"). The links are secrets. */
export const FeedbackLinks = z.record(z.string(), z.url({ protocol: /^https?$/u }));
export type FeedbackLinks = z.infer<typeof FeedbackLinks>;

/** The path that ends every feedback link: `/api/v1/feedback/tokens/{token_id}`. */
export const FeedbackPath = z.object({ token_id: nonEmptyText() });
export type FeedbackPath = z.infer<typeof FeedbackPath>;

/**
 * What a POST to a feedback link records (contract 001, "Feedback submission fields"). Every field may be absent or
 * null; unknown fields are ignored.
 */
export const FeedbackSubmission = z.object({
  score: z.number().nullish(),
  value: z.union([z.number(), text(COMMENT_MAX)]).nullish(),
  comment: text(COMMENT_MAX).nullish(),
  correction: JsonObject.nullish(),
  metadata: JsonObject.nullish(),
});
export type FeedbackSubmission = z.infer<typeof FeedbackSubmission>;

/**
 * What a GET of a feedback link records, from its query: `correction` is an encoded JSON object, and `metadata` is
 * "unsupported with GET": decision, refused rather than lost. A `value` that is written as a number is one.
 */
export const FeedbackQuery = z.object({
  score: z.preprocess((value) => (isNumeric(value) ? Number(value) : value), z.number()).optional(),
  // "007" stays a text: only what a number would be written as is one.
  value: z
    .preprocess(
      (value) => (isNumeric(value) && String(Number(value)) === value ? Number(value) : value),
      z.union([z.number(), text(COMMENT_MAX)]),
    )
    .optional(),
  comment: text(COMMENT_MAX).optional(),
  correction: z.preprocess(parseJson, JsonObject).optional(),
  metadata: z.undefined({ error: 'Not supported with GET: use POST' }).optional(),
});
export type FeedbackQuery = z.infer<typeof FeedbackQuery>;

/** What recording feedback answers. "Not shown"; an object of the service's own, perhaps empty. */
const FeedbackRecorded = z.unknown();

function isNumeric(value: unknown): value is string {
  return typeof value === 'string' && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu.test(value);
}

/** A text that is no JSON stays a text, which is then no object. */
function parseJson(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return value;
  }
}

const COMMON = { service: 'tracing', section: CONTRACT } as const;

/** Feedback links: pre-signed, so they carry no key (contract 001, "Authentication"). */
export const FEEDBACK_ENDPOINTS = withCommon(COMMON, {
  submitFeedback: {
    method: 'POST',
    path: '/api/v1/feedback/tokens/{token_id}',
    params: FeedbackPath,
    request: FeedbackSubmission,
    response: FeedbackRecorded,
    success: 200,
    errors: [404, 422],
  },
  submitFeedbackByQuery: {
    method: 'GET',
    path: '/api/v1/feedback/tokens/{token_id}',
    params: FeedbackPath,
    query: FeedbackQuery,
    response: FeedbackRecorded,
    success: 200,
    errors: [404, 422],
  },
});
