import { z } from 'zod';

import { CONTRACT_001, endpointsOf, publicApi } from '../endpoint.ts';
import { parsedJson } from '../json.ts';
import { COMMENT_MAX, LIST_IDS_MAX, NAME_MAX } from '../limits.ts';
import {
  JsonObject,
  nonEmptyText,
  PageQuery,
  QueryBoolean,
  StorableObject,
  text,
  Timestamp,
  Uuid,
} from '../scalars.ts';

/** Each requested feedback key with its pre-signed link (contract 001, "Feedback object"). The links are secrets. */
export const FeedbackLinks = z.record(z.string(), z.url({ protocol: /^https?$/u }));
export type FeedbackLinks = z.infer<typeof FeedbackLinks>;

/** The feedback in a POST to a link (contract 001, "Feedback submission fields"). Unknown fields are ignored. */
export const FeedbackSubmission = z.object({
  score: z.number().nullish(),
  value: z.union([z.number(), text(COMMENT_MAX)]).nullish(),
  comment: text(COMMENT_MAX).nullish(),
  correction: StorableObject.nullish(),
  metadata: StorableObject.nullish(),
});
export type FeedbackSubmission = z.infer<typeof FeedbackSubmission>;

/**
 * The feedback in the query of a GET of a link: `correction` is an encoded JSON object. `metadata` is "unsupported
 * with GET"; decision: it is refused, not ignored. A numeric `value` becomes a number.
 */
export const FeedbackQuery = z.object({
  score: z.preprocess((value) => (isNumeric(value) ? Number(value) : value), z.number()).optional(),
  // Only a number's canonical spelling becomes a number: "007" stays a text.
  value: z
    .preprocess(
      (value) => (isNumeric(value) && String(Number(value)) === value ? Number(value) : value),
      z.union([z.number(), text(COMMENT_MAX)]),
    )
    .optional(),
  comment: text(COMMENT_MAX).optional(),
  correction: z.preprocess(parseJson, StorableObject).optional(),
  metadata: z.undefined({ error: 'Not supported with GET: use POST' }).optional(),
});

/** A tracing project, as `GET /api/v1/sessions` lists it (public API). Loose: unknown fields pass. */
export const TracingProject = z.looseObject({ id: Uuid, name: z.string() });

/** The query of `GET /api/v1/sessions` (public API): the projects of a name, or all. */
const TracingProjectsQuery = PageQuery.extend({ name: text(NAME_MAX).optional() });
export type TracingProjectsQuery = z.infer<typeof TracingProjectsQuery>;

/** Feedback as `GET /api/v1/feedback` lists it (public API). Loose: unknown fields pass. */
export const FeedbackItem = z.looseObject({
  key: z.string(),
  score: z.union([z.number(), z.boolean()]).nullish(),
  created_at: Timestamp,
});
export type FeedbackItem = z.infer<typeof FeedbackItem>;

/** Recorded feedback, with every field of contract 001. */
const RecordedFeedback = FeedbackItem.extend({
  id: Uuid,
  run_id: z.string(),
  value: z.unknown().optional(),
  comment: z.string().nullish(),
  correction: z.unknown().optional(),
  metadata: JsonObject.nullish(),
});

/** One value, or several. */
const some = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value): unknown => (Array.isArray(value) ? value : [value]), z.array(item).max(LIST_IDS_MAX));

/** The query of `GET /api/v1/feedback` (public API). Each filter may be absent. */
const FeedbackListQuery = PageQuery.extend({
  session: some(Uuid).optional(),
  key: some(nonEmptyText(NAME_MAX)).optional(),
  has_score: QueryBoolean.optional(),
  min_created_at: Timestamp.optional(),
  max_created_at: Timestamp.optional(),
});
export type FeedbackListQuery = z.infer<typeof FeedbackListQuery>;

/** The answer to feedback: "not shown"; an object of the service's own, perhaps empty. */
const FeedbackRecorded = z.unknown();

function isNumeric(value: unknown): value is string {
  return typeof value === 'string' && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu.test(value);
}

/** Invalid JSON stays a text, which the schema then rejects. */
function parseJson(value: unknown): unknown {
  return typeof value === 'string' ? (parsedJson(value) ?? value) : value;
}

const feedback = endpointsOf('tracing', CONTRACT_001);
const LINK = '/api/v1/feedback/tokens/{token_id}';

/** Feedback links: pre-signed, so they carry no key (contract 001, "Authentication"). */
export const FEEDBACK_ENDPOINTS = {
  submitFeedback: feedback.post(LINK, FeedbackRecorded, { request: FeedbackSubmission }),
  // A scanner of links, which sends HEAD, must not replace feedback.
  submitFeedbackByQuery: feedback.get(LINK, FeedbackRecorded, { query: FeedbackQuery, isGetOnly: true }),
} as const;

/** Reading feedback back, with a key of the control plane. */
export const TRACING_ENDPOINTS = {
  getFeedback: publicApi.get('/api/v1/runs/{run_id}/feedback', z.array(RecordedFeedback)),
  listTracingProjects: publicApi.get('/api/v1/sessions', z.array(TracingProject), {
    query: TracingProjectsQuery,
  }),
  listFeedback: publicApi.get('/api/v1/feedback', z.array(RecordedFeedback), { query: FeedbackListQuery }),
} as const;
