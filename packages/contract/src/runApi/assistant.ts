import { z } from 'zod';

import { publicRunApi } from '../endpoint.ts';
import { INTEGER_MAX, LIST_MAX, NAME_MAX } from '../limits.ts';
import {
  Count,
  integer,
  JsonObject,
  singleLineText,
  oneOf,
  QueryBoolean,
  StorableObject,
  text,
  Timestamp,
  Uuid,
} from '../scalars.ts';
import { RunConfig } from './run.ts';

/** An assistant (contract 001: "Assistant resource and its fields: not shown"; these are the public client's). */
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

/** The answer of `POST /assistants/search`, and of `POST …/versions`: the versions of one assistant. */
const Assistants = z.array(Assistant);

const AssistantFilter = z.object({
  graph_id: text().nullish(),
  name: text().nullish(),
  metadata: StorableObject.nullish(),
});

/** The public client's `POST /assistants/search`. `name` matches a part of the name, case-insensitive. */
export const AssistantSearch = AssistantFilter.extend({
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
  sort_by: oneOf(['assistant_id', 'graph_id', 'name', 'created_at', 'updated_at']).nullish(),
  sort_order: oneOf(['asc', 'desc']).nullish(),
  select: z.array(text()).max(LIST_MAX).nullish(),
});
export type AssistantSearch = z.infer<typeof AssistantSearch>;

/** The public client's `POST /assistants`: creates an assistant of a graph. Unknown fields are ignored. */
const AssistantCreate = z.object({
  graph_id: singleLineText(NAME_MAX),
  assistant_id: Uuid.nullish(),
  name: text(NAME_MAX).nullish(),
  description: text().nullish(),
  config: RunConfig.nullish(),
  context: StorableObject.nullish(),
  metadata: StorableObject.nullish(),
  if_exists: oneOf(['raise', 'do_nothing']).nullish(),
});

/** `PATCH /assistants/{assistant_id}`: creates a new version. `metadata` is merged, other given fields are replaced. */
const AssistantPatch = AssistantCreate.omit({ assistant_id: true, if_exists: true })
  .partial()
  .extend({ graph_id: singleLineText(NAME_MAX).nullish() });

/** The query of `DELETE /assistants/{assistant_id}`: whether to delete the threads that used it. */
const AssistantDeleteQuery = z.object({ delete_threads: QueryBoolean.default(false) });

/** The public client's `POST /assistants/{assistant_id}/versions`: newest first. */
const AssistantVersions = z.object({
  metadata: StorableObject.nullish(),
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
});

/** The public client's `POST /assistants/{assistant_id}/latest`: sets the current version. */
const AssistantLatest = z.object({ version: integer(1) });

/** The query of `GET /assistants/{assistant_id}/graph`: whether and how deep to draw subgraphs. */
const AssistantGraphQuery = z.object({
  xray: z
    .preprocess((value) => (/^\d{1,2}$/u.test(String(value)) ? Number(value) : value), z.int().min(0))
    .or(QueryBoolean)
    .optional(),
});

/** `GET /assistants/{assistant_id}/graph`: nodes and edges, as LangGraph draws them. */
const DrawnGraph = z.looseObject({
  nodes: z.array(z.looseObject({ id: z.union([z.string(), z.number()]) })),
  edges: z.array(z.looseObject({ source: z.string(), target: z.string() })),
});

const GraphSchemas = z.looseObject({
  input_schema: JsonObject.nullish(),
  output_schema: JsonObject.nullish(),
  state_schema: JsonObject.nullish(),
  config_schema: JsonObject.nullish(),
  context_schema: JsonObject.nullish(),
});

/** `GET /assistants/{assistant_id}/schemas`: the JSON Schemas of the graph's input, output and state. */
const AssistantSchemas = GraphSchemas.extend({ graph_id: z.string() });

/** `GET /assistants/{assistant_id}/subgraphs`: the schemas of each subgraph, by its namespace. */
const Subgraphs = z.record(z.string(), GraphSchemas);

/** Whether to include subgraphs of subgraphs. */
const SubgraphQuery = z.object({ recurse: QueryBoolean.default(false) });

/** `GET /ok` (public API). */
export const ServerOk = z.looseObject({ ok: z.literal(true) });

/** `GET /info` (public API): facts about the server. */
export const ServerInfo = z.looseObject({ version: z.string().nullish() });

const ASSISTANT = '/assistants/{assistant_id}';

/** Assistants (contract 001: "not shown"): the public client's endpoints. */
export const ASSISTANTS_ENDPOINTS = {
  createAssistant: publicRunApi.post('/assistants', Assistant, {
    request: AssistantCreate,
    errors: [404, 409],
  }),
  getAssistant: publicRunApi.get(ASSISTANT, Assistant),
  patchAssistant: publicRunApi.patch(ASSISTANT, Assistant, { request: AssistantPatch, errors: [409] }),
  deleteAssistant: publicRunApi.delete(ASSISTANT, null, { query: AssistantDeleteQuery, errors: [409] }),
  searchAssistants: publicRunApi.post('/assistants/search', Assistants, { request: AssistantSearch }),
  countAssistants: publicRunApi.post('/assistants/count', Count, { request: AssistantFilter }),
  listAssistantVersions: publicRunApi.post(`${ASSISTANT}/versions`, Assistants, {
    request: AssistantVersions,
  }),
  setAssistantVersion: publicRunApi.post(`${ASSISTANT}/latest`, Assistant, {
    request: AssistantLatest,
    errors: [409],
  }),
  drawAssistantGraph: publicRunApi.get(`${ASSISTANT}/graph`, DrawnGraph, {
    query: AssistantGraphQuery,
    errors: [409],
  }),
  getAssistantSchemas: publicRunApi.get(`${ASSISTANT}/schemas`, AssistantSchemas, { errors: [409] }),
  listSubgraphs: publicRunApi.get(`${ASSISTANT}/subgraphs`, Subgraphs, {
    query: SubgraphQuery,
    errors: [409],
  }),
  getSubgraph: publicRunApi.get(`${ASSISTANT}/subgraphs/{namespace}`, Subgraphs, {
    query: SubgraphQuery,
    errors: [409],
  }),
} as const;
