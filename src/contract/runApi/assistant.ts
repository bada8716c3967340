import { z } from 'zod';

import { INTEGER_MAX, NAME_MAX } from '../limits.ts';
import { integer, JsonObject, line, oneOf, text, Timestamp, Uuid } from '../scalars.ts';

/**
 * How a run, or an assistant lookup, names its assistant: the name the graph was deployed under, or an assistant's
 * id (contract 001, "What the service does").
 */
export const AssistantId = line(NAME_MAX);
export type AssistantId = z.infer<typeof AssistantId>;

/** The path of a request about one assistant. "." and ".." would be another path. */
export const AssistantPath = z.object({
  assistant_id: AssistantId.refine((id) => id !== '.' && id !== '..', {
    error: 'Input should not be a path segment',
  }),
});
export type AssistantPath = z.infer<typeof AssistantPath>;

/** An assistant (contract 001: "Assistant resource and its fields: not shown"; those of the public client). */
export const Assistant = z.looseObject({
  assistant_id: Uuid,
  graph_id: z.string(),
  name: z.string().nullish(),
  description: z.string().nullish(),
  config: JsonObject.nullish(),
  context: z.unknown().optional(),
  metadata: JsonObject.nullish(),
  version: z.int().nullish(),
  created_at: Timestamp.nullish(),
  updated_at: Timestamp.nullish(),
});
export type Assistant = z.infer<typeof Assistant>;

/** `POST /assistants/search` answers a list of assistants. */
export const Assistants = z.array(Assistant);
export type Assistants = z.infer<typeof Assistants>;

/** What the public client sends to `POST /assistants/search`. */
export const AssistantSearch = z.object({
  graph_id: text().nullish(),
  name: text().nullish(),
  metadata: JsonObject.nullish(),
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
  sort_by: oneOf(['assistant_id', 'graph_id', 'name', 'created_at', 'updated_at']).nullish(),
  sort_order: oneOf(['asc', 'desc']).nullish(),
  select: z.array(text()).nullish(),
});
export type AssistantSearch = z.infer<typeof AssistantSearch>;

/** `GET /ok` (public relative). */
export const ServerOk = z.looseObject({ ok: z.literal(true) });
export type ServerOk = z.infer<typeof ServerOk>;

/** `GET /info` (public relative): whatever the server tells of itself. */
export const ServerInfo = z.looseObject({ version: z.string().nullish() });
export type ServerInfo = z.infer<typeof ServerInfo>;
