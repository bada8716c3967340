import { z } from 'zod';

import { refuse } from '../httpErrors.ts';
import { publicRunApi, runApi } from '../endpoint.ts';
import { FEEDBACK_KEYS_MAX, INTEGER_MAX, LIST_MAX, NAME_MAX, RUN_TIMEOUT_MAX_SECONDS } from '../limits.ts';
import {
  AssistantId,
  CheckpointId,
  entryByEntry,
  HttpUrl,
  integer,
  JsonObject,
  singleLineText,
  nonEmptyText,
  oneOf,
  openEnum,
  QueryBoolean,
  queryFilter,
  queryInteger,
  queryList,
  storable,
  StorableObject,
  text,
  Timestamp,
  Uuid,
} from '../scalars.ts';
import { Checkpoint } from './thread.ts';

/** A run's status. `error` and `timeout` are from the public servers, the others from contract 001. */
const RunStatus = oneOf(['pending', 'running', 'success', 'interrupted', 'error', 'timeout']);

/** What to do with a new run while another is active on its thread (contract 001, "Run"). Default: `reject`. */
const MultitaskStrategy = oneOf(['enqueue', 'reject', 'interrupt', 'rollback']);

/** What a stream contains (contract 001, "Events": stream modes). Other modes are refused. */
export const StreamMode = oneOf(['values', 'updates', 'messages-tuple', 'debug', 'custom', 'events']);
export type StreamMode = z.infer<typeof StreamMode>;

/** One mode or a list of modes, as a list without duplicates. */
export const StreamModes = z
  .preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(StreamMode).max(LIST_MAX))
  .transform((modes) => [...new Set(modes)]);
export type StreamModes = z.infer<typeof StreamModes>;

/** What to do with the run if its client disconnects. Contract 001 names `cancel`; `continue` is the default. */
const DisconnectMode = oneOf(['cancel', 'continue']);
type DisconnectMode = z.infer<typeof DisconnectMode>;

/** How a run was requested (contract 001, "Run": `kwargs`). Loose: servers store more in it. */
const RunKwargs = z.looseObject({
  input: z.unknown().optional(),
  config: z
    .looseObject({
      metadata: z.looseObject({ created_by: z.string().nullish() }).nullish(),
      configurable: z
        .looseObject({
          run_id: z.string().nullish(),
          user_id: z.string().nullish(),
          graph_id: z.string().nullish(),
          thread_id: z.string().nullish(),
          assistant_id: z.string().nullish(),
          checkpoint_id: z.string().nullish(),
        })
        .nullish(),
    })
    .nullish(),
  webhook: z.string().nullish(),
  temporary: z.boolean().nullish(),
  stream_mode: z.union([z.array(z.string()), z.string().transform((mode) => [mode])]).nullish(),
  feedback_keys: z.array(z.string()).nullish(),
  interrupt_after: z.union([z.array(z.string()), z.string()]).nullish(),
  interrupt_before: z.union([z.array(z.string()), z.string()]).nullish(),
});

/** A run (contract 001, "Run"). */
export const Run = z.looseObject({
  run_id: Uuid,
  thread_id: Uuid,
  assistant_id: Uuid,
  created_at: Timestamp,
  updated_at: Timestamp,
  metadata: JsonObject.nullish().transform((value) => value ?? {}),
  status: openEnum(RunStatus),
  kwargs: RunKwargs.nullish(),
  multitask_strategy: openEnum(MultitaskStrategy).nullish(),
});

/** `GET /threads/{thread_id}/runs`: newest first; empty for no runs (contract 001, "Endpoints"). */
const Runs = z.array(Run);

/** The nodes before or after which to interrupt a run: a list of names, or `*` for all. */
const InterruptNodes = z.union([z.literal('*'), z.array(nonEmptyText()).max(LIST_MAX)]);

/** One jump target: a node, or a node with its own input. */
const Goto = z.union([
  nonEmptyText(),
  z.looseObject({ node: nonEmptyText(), input: z.unknown().optional() }),
]);

/** Instead of an input: resume from an interrupt, write state, or jump (public client: `command`). */
const RunCommand = z.object({
  update: z
    .union([z.record(text(), z.unknown()), z.array(z.tuple([text(), z.unknown()])).max(LIST_MAX)])
    .nullish(),
  resume: z.unknown().optional(),
  goto: z.union([Goto, z.array(Goto).max(LIST_MAX)]).nullish(),
});

/** The run's configuration. Other fields of a runnable's configuration reach only a graph that is a function of it. */
export const RunConfig = storable(
  z.looseObject({
    tags: z.array(text()).max(LIST_MAX).nullish(),
    recursion_limit: integer(1).nullish(),
    // The server sets the thread.
    configurable: Checkpoint.omit({ thread_id: true }).nullish(),
    metadata: JsonObject.nullish(),
  }),
);

/**
 * The body that creates a run, also to wait for it or stream it (contract 001, "Endpoints"; "the complete create-run
 * body schema beyond the fields listed: not shown": the rest are the public client's fields). Null means the same as
 * absent. Only `assistant_id` is required. `command` overrides `input` (decision). `timeout`, in seconds, by default
 * none, is our field: a run that takes longer is stopped with the status `timeout`, which the public servers have
 * (decision). Unknown fields are ignored.
 */
export const RunCreate = z.object({
  assistant_id: AssistantId,
  input: JsonObject.nullish(),
  multitask_strategy: orDefault(MultitaskStrategy, 'reject'),
  feedback_keys: z.array(singleLineText(NAME_MAX)).max(FEEDBACK_KEYS_MAX).nullish().transform(unique),
  stream_mode: StreamModes.nullish().transform((modes): StreamMode[] =>
    modes == null || modes.length === 0 ? ['values'] : modes,
  ),
  stream_subgraphs: orDefault(z.boolean(), false),
  stream_resumable: orDefault(z.boolean(), false),
  on_disconnect: DisconnectMode.nullish(),
  command: RunCommand.nullish(),
  config: RunConfig.nullish(),
  context: z.unknown().optional(),
  metadata: StorableObject.nullish(),
  interrupt_before: InterruptNodes.nullish(),
  interrupt_after: InterruptNodes.nullish(),
  checkpoint: Checkpoint.nullish(),
  checkpoint_id: CheckpointId.nullish(),
  webhook: HttpUrl.nullish(),
  on_completion: oneOf(['delete', 'keep', 'complete', 'continue']).nullish(),
  if_not_exists: orDefault(oneOf(['create', 'reject']), 'reject'),
  after_seconds: z.number().min(0).max(INTEGER_MAX).nullish(),
  durability: oneOf(['sync', 'async', 'exit']).nullish(),
  checkpoint_during: z.boolean().nullish(),
  timeout: z.number().positive().max(RUN_TIMEOUT_MAX_SECONDS).nullish(),
});
export type RunCreate = z.infer<typeof RunCreate>;
/** A {@link RunCreate} before parsing: defaults may be left out. */
export type RunRequest = z.input<typeof RunCreate>;

/** The public client's `POST /runs/batch`: runs without threads. If one is invalid, none is created. */
const RunBatch = entryByEntry(z.array(RunCreate).min(1).max(LIST_MAX));

/** The query of `GET /threads/{thread_id}/runs` (public client). Decision: without `limit`, every run. */
export const RunsQuery = z.object({
  limit: queryInteger(1, 1000).optional(),
  offset: queryInteger(0, INTEGER_MAX).default(0),
  status: RunStatus.optional(),
  select: queryList(z.array(text())).optional(),
});
export type RunsQuery = z.infer<typeof RunsQuery>;

/**
 * The answer of `join` and `wait`: the run's final values (contract 001: "not shown"), as on the public servers. A failed
 * run answers 200 with `{"__error__": {error, message}}`.
 */
const RunOutput = z.unknown();

/** The body for a failed run. */
export const RunFailure = z.looseObject({
  __error__: z.looseObject({ error: z.string(), message: z.string() }),
});

/** Absent and null both read as the default. */
function orDefault<Schema extends z.ZodType>(schema: Schema, value: z.output<Schema>) {
  return schema.nullish().transform((given): z.output<Schema> => given ?? value);
}

/** Each feedback key makes one link, so duplicates are removed. */
function unique(keys: string[] | null | undefined): string[] | null {
  return keys == null ? null : [...new Set(keys)];
}

/** Whether a client's disconnect cancels the run: `cancel` or `continue` in every spelling of clients. */
const CancelOnDisconnect = z.preprocess((value) => {
  if (typeof value !== 'string') return value;
  const word = value.toLowerCase();
  if (word === 'cancel') return true;
  return word === 'continue' ? false : value;
}, QueryBoolean);

/** The query of `GET …/runs/{run_id}/join` (contract 001, "Endpoints"). `on_disconnect` is accepted as well. */
export const JoinQuery = z.object({
  cancel_on_disconnect: CancelOnDisconnect.default(false),
  on_disconnect: CancelOnDisconnect.optional(),
});

/**
 * The query of `GET …/runs/{run_id}/stream`: as join, and the public client's modes. The public Python client sends an
 * empty `stream_mode` for all of them.
 */
export const JoinStreamQuery = z.object({
  ...JoinQuery.shape,
  stream_mode: queryFilter(queryList(StreamModes)),
});

/** The query of requests that create a run and follow it: `on_disconnect` "may be given in the query". */
export const FollowQuery = z.object({
  on_disconnect: CancelOnDisconnect.optional(),
  cancel_on_disconnect: CancelOnDisconnect.optional(),
});
export type FollowQuery = z.infer<typeof FollowQuery>;

/** What a client's disconnect does to the run. Decision: the query overrides the body; default `continue`. */
export function disconnectMode(
  query: { on_disconnect?: boolean | undefined; cancel_on_disconnect?: boolean | undefined },
  body: Pick<RunCreate, 'on_disconnect'>,
): DisconnectMode {
  const asked = query.on_disconnect ?? query.cancel_on_disconnect;
  if (asked !== undefined) return asked ? 'cancel' : 'continue';
  return body.on_disconnect ?? 'continue';
}

/** `interrupt`, the default, keeps the run and its checkpoints; `rollback` deletes both (contract 001). */
const CancelAction = oneOf(['interrupt', 'rollback']);

/** The query of `POST …/runs/{run_id}/cancel`. `wait` is accepted in every spelling that public clients use. */
export const CancelQuery = z.object({
  action: CancelAction.default('interrupt'),
  wait: QueryBoolean.default(false),
});

/** The query of `POST /runs/cancel`. */
export const BulkCancelQuery = z.object({ action: CancelAction.default('interrupt') });

/** The statuses of a bulk cancel; `all` is both. */
const BulkCancelStatus = oneOf(['pending', 'running', 'all']);

/**
 * The body of `POST /runs/cancel`: either `thread_id` with `run_ids`, or `status` (contract 001, "Endpoints"). How
 * they combine is "not shown"; decision: any mixture and any half is refused with 422, as on the public servers. Null means
 * absent.
 */
export const BulkCancelBody = z
  .object({
    thread_id: Uuid.nullish(),
    run_ids: z.array(Uuid).min(1).max(LIST_MAX).nullish(),
    status: BulkCancelStatus.nullish(),
  })
  .superRefine((body, context) => {
    if (body.status != null) {
      for (const field of ['thread_id', 'run_ids'] as const) {
        if (body[field] == null) continue;
        refuse(context, [field], 'Cannot be used together with status', 'not_applicable');
      }
    } else if (body.thread_id == null && body.run_ids == null) {
      refuse(context, ['status'], 'Either thread_id with run_ids, or status, is required', 'missing');
    } else if (body.thread_id == null) {
      refuse(context, ['thread_id'], 'Required by run_ids', 'missing');
    } else if (body.run_ids == null) {
      refuse(context, ['run_ids'], 'Required by thread_id', 'missing');
    }
  });

const RUNS = '/threads/{thread_id}/runs';
const RUN = '/threads/{thread_id}/runs/{run_id}';

/** Runs: create, read, cancel. */
export const RUNS_ENDPOINTS = {
  listRuns: runApi.get(RUNS, Runs, { query: RunsQuery }),
  createRun: runApi.post(RUNS, Run, { request: RunCreate, errors: [409] }),
  createStatelessRun: publicRunApi.post('/runs', Run, { request: RunCreate, errors: [404] }),
  createRuns: publicRunApi.post('/runs/batch', Runs, { request: RunBatch, errors: [404] }),
  getRun: runApi.get(RUN, Run),
  deleteRun: publicRunApi.delete(RUN, null, { errors: [409] }),
  cancelRun: runApi.post(`${RUN}/cancel`, null, { query: CancelQuery, success: 202, errors: [409] }),
  cancelRuns: runApi.post('/runs/cancel', null, {
    query: BulkCancelQuery,
    request: BulkCancelBody,
    errors: [404],
  }),
} as const;

/** Followed runs: join, wait, stream. */
export const FOLLOWED_RUNS_ENDPOINTS = {
  joinRun: runApi.get(`${RUN}/join`, RunOutput, { query: JoinQuery, isGetOnly: true }),
  waitRun: runApi.post(`${RUNS}/wait`, RunOutput, { query: FollowQuery, request: RunCreate, errors: [409] }),
  waitStatelessRun: publicRunApi.post('/runs/wait', RunOutput, {
    query: FollowQuery,
    request: RunCreate,
    errors: [404],
  }),
  streamRun: runApi.post(`${RUNS}/stream`, 'stream', {
    query: FollowQuery,
    request: RunCreate,
    errors: [409],
  }),
  streamStatelessRun: runApi.post('/runs/stream', 'stream', {
    query: FollowQuery,
    request: RunCreate,
    errors: [404],
  }),
  joinRunStream: runApi.get(`${RUN}/stream`, 'stream', { query: JoinStreamQuery }),
  joinStatelessRunStream: publicRunApi.get('/runs/{run_id}/stream', 'stream', { query: JoinStreamQuery }),
} as const;
