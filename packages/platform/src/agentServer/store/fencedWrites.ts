import { type PendingWrite, type SerializerProtocol, WRITES_IDX_MAP } from '@langchain/langgraph-checkpoint';
import type { Pool } from 'pg';

import { CHECKPOINT_SCHEMA } from './agentDatabase.ts';

/** The token of an attempt: its writes count only while the run is this owner's, and in this attempt. */
export interface Fence {
  readonly runId: string;
  readonly attempt: number;
  readonly owner: string;
}

/** A checkpoint as its row is written. `values` are its channels' new values, by channel and version. */
export interface CheckpointRow {
  readonly threadKey: string;
  readonly namespace: string;
  readonly checkpointId: string;
  readonly parentId: string | undefined;
  readonly checkpoint: object;
  readonly metadata: object;
  readonly values: readonly {
    channel: string;
    version: string;
    type: string;
    blob: Uint8Array | undefined;
  }[];
}

/**
 * Stores a checkpoint with its values: one statement, so one round trip and no half of it. With a fence it is stored
 * only while the fence holds, and whoever takes the run over waits until it is. Answers whether it was stored.
 */
export async function writeCheckpoint(
  pool: Pool,
  row: CheckpointRow,
  fence: Fence | undefined,
): Promise<boolean> {
  const { values } = row;
  const result = await pool.query<{ held: boolean }>(fence === undefined ? PUT : PUT_FENCED, [
    row.threadKey,
    row.namespace,
    row.checkpointId,
    row.parentId ?? null,
    JSON.stringify(row.checkpoint),
    JSON.stringify(row.metadata),
    values.map(({ channel }) => channel),
    values.map(({ version }) => version),
    values.map(({ type }) => type),
    values.map(({ blob }) => (blob === undefined ? null : Buffer.from(blob))),
    ...(fence === undefined ? [] : [fence.runId, fence.attempt, fence.owner]),
  ]);
  return result.rows[0]?.held === true;
}

/** Stores what a task wrote on top of a checkpoint, like {@link writeCheckpoint}. */
export async function writePending(
  pool: Pool,
  serde: SerializerProtocol,
  place: { threadKey: string; namespace: string; checkpointId: string; taskId: string },
  writes: readonly PendingWrite[],
  fence: Fence | undefined,
): Promise<boolean> {
  const rows = await Promise.all(
    writes.map(async ([channel, value], index) => {
      const [type, blob] = await serde.dumpsTyped(value);
      return { channel, type, blob, idx: WRITES_IDX_MAP[channel] ?? index };
    }),
  );
  // LangGraph's own places (an error, an interrupt, an answer) are overwritten; what a node wrote stays as it is.
  const own = writes.every(([channel]) => channel in WRITES_IDX_MAP);
  const statement = fence === undefined ? (own ? OVERWRITE : ADD) : own ? OVERWRITE_FENCED : ADD_FENCED;
  const result = await pool.query<{ held: boolean }>(statement, [
    place.threadKey,
    place.namespace,
    place.checkpointId,
    place.taskId,
    rows.map(({ idx }) => idx),
    rows.map(({ channel }) => channel),
    rows.map(({ type }) => type),
    rows.map(({ blob }) => Buffer.from(blob)),
    ...(fence === undefined ? [] : [fence.runId, fence.attempt, fence.owner]),
  ]);
  return result.rows[0]?.held === true;
}

/** The row is locked for the moment of the write: a claim of the run comes before it or after it. */
function fenceAt(parameter: number): string {
  return `fence AS MATERIALIZED (
    SELECT 1 FROM slipway_agent.runs
    WHERE run_id = $${parameter}::uuid AND attempt = $${parameter + 1} AND owner = $${parameter + 2}
      AND status = 'running' FOR SHARE)`;
}

const OPEN = 'fence AS MATERIALIZED (SELECT 1)';

function put(fence: string): string {
  return `WITH ${fence}, stored_values AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
      SELECT $1, $2, v.channel, v.version, v.type, v.blob
      FROM fence, unnest($7::text[], $8::text[], $9::text[], $10::bytea[]) AS v (channel, version, type, blob)
      ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
    ), stored AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      SELECT $1, $2, $3, $4, $5::jsonb, $6::jsonb FROM fence
      ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
      DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
    ) SELECT EXISTS (SELECT 1 FROM fence) AS held`;
}

function putWrites(fence: string, onConflict: string): string {
  return `WITH ${fence}, stored AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_writes
        (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
      SELECT $1, $2, $3, $4, w.idx, w.channel, w.type, w.blob
      FROM fence, unnest($5::int[], $6::text[], $7::text[], $8::bytea[]) AS w (idx, channel, type, blob)
      ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}
    ) SELECT EXISTS (SELECT 1 FROM fence) AS held`;
}

const OVERWRITING = 'DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob';

const PUT = put(OPEN);
const PUT_FENCED = put(fenceAt(11));
const ADD = putWrites(OPEN, 'DO NOTHING');
const ADD_FENCED = putWrites(fenceAt(9), 'DO NOTHING');
const OVERWRITE = putWrites(OPEN, OVERWRITING);
const OVERWRITE_FENCED = putWrites(fenceAt(9), OVERWRITING);
