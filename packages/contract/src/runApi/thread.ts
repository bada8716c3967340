import { z } from 'zod';

import { runApi, publicRunApi } from '../endpoint.ts';
import { INTEGER_MAX, LIST_MAX, NAME_MAX } from '../limits.ts';
import {
  CheckpointId,
  Count,
  entryByEntry,
  integer,
  JsonObject,
  nonEmptyText,
  oneOf,
  openEnum,
  QueryBoolean,
  queryInteger,
  StorableObject,
  text,
  Timestamp,
  Uuid,
} from '../scalars.ts';

/** Contract 001 names `idle` only; the others are those of the public client. */
const ThreadStatus = oneOf(['idle', 'busy', 'interrupted', 'error']);

/** A free-form object; absent or null reads as empty. */
const objectOrEmpty = JsonObject.nullish().transform((value) => value ?? {});

/** A thread (contract 001, "Thread"). At creation `metadata` and `config` are empty and `values` is null. */
export const Thread = z.looseObject({
  thread_id: Uuid,
  created_at: Timestamp,
  updated_at: Timestamp,
  metadata: objectOrEmpty,
  status: openEnum(ThreadStatus),
  config: objectOrEmpty,
  // One of the public servers leaves `values` out on a new thread.
  values: JsonObject.nullish().transform((value) => value ?? null),
});

const Threads = z.array(Thread);

/** A point of a thread's history, as the public client names it. */
export const Checkpoint = z.looseObject({
  thread_id: Uuid.nullish(),
  checkpoint_ns: text().nullish(),
  // Empty: none.
  checkpoint_id: text().toLowerCase().nullish(),
  checkpoint_map: StorableObject.nullish(),
});

/**
 * A thread's state (contract 001, "Thread state"). The public servers send the checkpoint's ids only in nested
 * objects, so they are copied to the contract's fields. Null ids: nothing has run yet, or this is the first
 * checkpoint.
 */
export const ThreadState = z
  .looseObject({
    values: JsonObject.nullish().transform((value) => value ?? {}),
    next: z.array(z.string()),
    tasks: z.array(z.unknown()),
    metadata: JsonObject.nullish(),
    created_at: Timestamp.nullish(),
    checkpoint_id: z.string().nullish(),
    parent_checkpoint_id: z.string().nullish(),
    checkpoint: Checkpoint.nullish(),
    parent_checkpoint: Checkpoint.nullish(),
  })
  .transform((state) => ({
    ...state,
    checkpoint_id: state.checkpoint_id ?? state.checkpoint?.checkpoint_id ?? null,
    parent_checkpoint_id: state.parent_checkpoint_id ?? state.parent_checkpoint?.checkpoint_id ?? null,
  }));

/** `POST /threads/{thread_id}/history` answers states, newest first. */
const ThreadStates = z.array(ThreadState);

/**
 * One step of a manually written state: what each node would have written. Decision: of the public client's forms,
 * `values` with `as_node` is accepted. `command` is refused, not ignored.
 */
const Superstep = z.object({
  updates: z
    .array(
      z.object({
        values: z.unknown().optional(),
        command: z.null({ error: 'Not supported: use values' }).optional(),
        as_node: nonEmptyText(),
      }),
    )
    .min(1)
    .max(LIST_MAX),
});

/**
 * `POST /threads` (contract 001: "object (may be empty)"). The fields are the public client's; its `ttl` is accepted
 * and ignored, like every unknown field. `supersteps` make the thread's first states, for the graph in
 * `metadata.graph_id`.
 */
export const ThreadCreate = z.object({
  thread_id: Uuid.nullish(),
  metadata: StorableObject.nullish(),
  if_exists: oneOf(['raise', 'do_nothing']).nullish(),
  supersteps: entryByEntry(z.array(Superstep).max(LIST_MAX)).nullish(),
});
export type ThreadCreate = z.infer<typeof ThreadCreate>;

/** The public client's `PATCH /threads/{thread_id}`: `metadata` is merged. */
export const ThreadPatch = z.object({ metadata: StorableObject.nullish() });

/** The most paths that one search may extract. Decision: the limit of the public client's documentation. */
const EXTRACTED_MAX = 10;

/**
 * The public client's `POST /threads/search`. `extract` maps names to paths (`values.messages[-1].content`); each
 * thread has their values under the same names in `extracted`.
 */
export const ThreadSearch = z.object({
  ids: z.array(Uuid).max(LIST_MAX).nullish(),
  metadata: StorableObject.nullish(),
  values: StorableObject.nullish(),
  status: ThreadStatus.nullish(),
  limit: integer(1, 1000).default(10),
  offset: integer(0, INTEGER_MAX).default(0),
  sort_by: oneOf(['thread_id', 'status', 'created_at', 'updated_at', 'state_updated_at']).nullish(),
  sort_order: oneOf(['asc', 'desc']).nullish(),
  select: z.array(text()).max(LIST_MAX).nullish(),
  extract: JsonObject.refine((paths) => Object.keys(paths).length <= EXTRACTED_MAX, {
    error: `At most ${EXTRACTED_MAX} paths can be extracted`,
  })
    .pipe(z.record(text(NAME_MAX), text()))
    .nullish(),
});
export type ThreadSearch = z.infer<typeof ThreadSearch>;

/** The public client's `POST /threads/prune`: removes threads, or all but each thread's newest state. */
const ThreadPrune = z.object({
  thread_ids: z.array(Uuid).max(LIST_MAX),
  strategy: oneOf(['delete', 'keep_latest']).default('delete'),
});

const ThreadPruned = z.looseObject({ pruned_count: z.int().min(0) });

/** The public client's `POST /threads/{thread_id}/state`: writes values as the node `as_node` would. */
export const StateUpdate = z.object({
  values: z.unknown().optional(),
  checkpoint: Checkpoint.nullish(),
  checkpoint_id: CheckpointId.nullish(),
  as_node: nonEmptyText().nullish(),
});

/** The answer to a state update: the address of the new state. */
const StateUpdated = z.looseObject({ checkpoint: Checkpoint.nullish(), configurable: JsonObject.nullish() });

/** The public client's `POST /threads/{thread_id}/history`. `before` is a checkpoint, its id, or a config. */
export const HistoryQuery = z.object({
  limit: integer(1, 1000).default(10),
  before: z.union([CheckpointId, StorableObject]).nullish(),
  metadata: StorableObject.nullish(),
  checkpoint: Checkpoint.nullish(),
});
export type HistoryQuery = z.infer<typeof HistoryQuery>;

const HistoryUrl = z.object({ limit: queryInteger(1, 1000).default(10), before: CheckpointId.optional() });

/** The query of `GET /threads/{thread_id}/state`: whether tasks include the states of their subgraphs. */
const StateQuery = z.object({ subgraphs: QueryBoolean.default(false) });

/** The public client's `POST /threads/{thread_id}/state/checkpoint`: the state at a checkpoint. */
export const StateSearch = z.object({ checkpoint: Checkpoint.nullish(), subgraphs: z.boolean().nullish() });

const THREAD = '/threads/{thread_id}';

/** Threads: create, read, patch, delete, search, prune, copy. */
export const THREADS_ENDPOINTS = {
  createThread: runApi.post('/threads', Thread, { request: ThreadCreate, errors: [409] }),
  getThread: publicRunApi.get(THREAD, Thread),
  patchThread: publicRunApi.patch(THREAD, Thread, { request: ThreadPatch }),
  deleteThread: publicRunApi.delete(THREAD, null),
  searchThreads: publicRunApi.post('/threads/search', Threads, { request: ThreadSearch }),
  countThreads: publicRunApi.post('/threads/count', Count, { request: ThreadSearch }),
  pruneThreads: publicRunApi.post('/threads/prune', ThreadPruned, { request: ThreadPrune, errors: [409] }),
  copyThread: publicRunApi.post(`${THREAD}/copy`, Thread),
} as const;

/** The states of threads (contract 001, "Thread state"): read, history, manual update. */
export const THREAD_STATES_ENDPOINTS = {
  getThreadState: runApi.get(`${THREAD}/state`, ThreadState, { query: StateQuery, errors: [409] }),
  getThreadStateAt: publicRunApi.get(`${THREAD}/state/{checkpoint_id}`, ThreadState, {
    query: StateQuery,
    errors: [409],
  }),
  findThreadState: publicRunApi.post(`${THREAD}/state/checkpoint`, ThreadState, {
    request: StateSearch,
    errors: [409],
  }),
  updateThreadState: publicRunApi.post(`${THREAD}/state`, StateUpdated, {
    request: StateUpdate,
    errors: [409],
  }),
  patchThreadState: publicRunApi.patch(`${THREAD}/state`, null, { request: ThreadPatch }),
  getThreadHistory: publicRunApi.post(`${THREAD}/history`, ThreadStates, {
    request: HistoryQuery,
    errors: [409],
  }),
  listThreadHistory: publicRunApi.get(`${THREAD}/history`, ThreadStates, {
    query: HistoryUrl,
    errors: [409],
  }),
} as const;
