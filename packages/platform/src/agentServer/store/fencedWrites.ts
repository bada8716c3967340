import type { Pool } from 'pg';

import { CHECKPOINT_SCHEMA, COMMAND_TASK } from './checkpointTables.ts';

/** The fencing token of an attempt: its writes count only while this owner has the run in this attempt. */
export interface Fence {
  readonly runId: string;
  readonly attempt: number;
  readonly owner: string;
}

/** Rows of one thread's checkpoints. */
export interface CheckpointRows {
  readonly threadId: string;
  readonly checkpoints: readonly CheckpointRow[];
  readonly values: readonly ValueRow[];
  readonly writes: readonly WriteRow[];
}

export interface CheckpointRow {
  readonly namespace: string;
  readonly id: string;
  readonly parentId: string | undefined;
  readonly checkpoint: object;
  readonly metadata: object;
  /** Whether it is the input of a run, before its first step. */
  readonly isInput: boolean;
}

export interface ValueRow {
  readonly namespace: string;
  readonly channel: string;
  readonly version: string;
  readonly type: string;
  readonly blob: Uint8Array | undefined;
}

export interface WriteRow {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string;
  readonly index: number;
  readonly channel: string;
  readonly type: string;
  readonly blob: Uint8Array;
  /** Whether it replaces the task's earlier write there; otherwise the earlier one stays. */
  readonly replaces: boolean;
}

/** When to store rows, and what to change with them: the first part of the statement, which returns a row if they are. */
export interface WriteCondition {
  readonly statement: string;
  readonly parameters: readonly unknown[];
}

/** The state in which a change by hand leaves a thread, as JSON texts. */
export interface RestingState {
  readonly values: string;
  /** The pending interrupts, by task. */
  readonly interrupts: string;
  readonly status: 'interrupted' | 'idle';
}

/** While the fence holds. A process that claims the run waits until the rows are stored. */
export function whileHeld({ runId, attempt, owner }: Fence): WriteCondition {
  return { statement: FENCED_STATEMENT, parameters: [runId, attempt, owner] };
}

/** While no run is active on the thread. */
export function whileIdle(deploymentId: string, threadId: string): WriteCondition {
  return { statement: IDLE_THREAD_STATEMENT, parameters: [deploymentId, threadId] };
}

/** While the thread is as it was at a version, without an active run. Its record gets the state, and loses its error. */
export function whileUnchanged(
  deploymentId: string,
  thread: { thread_id: string; version: string },
  { values, interrupts, status }: RestingState,
): WriteCondition {
  const parameters = [deploymentId, thread.thread_id, thread.version, values, interrupts, status];
  return { statement: UNCHANGED_THREAD_STATEMENT, parameters };
}

/** If neither a thread nor a run without a thread has the id. The thread is created. */
export function withNewThread(
  deploymentId: string,
  thread: { thread_id: string; metadata: Record<string, unknown> },
  { values, interrupts, status }: RestingState,
): WriteCondition {
  const { thread_id: threadId, metadata } = thread;
  const parameters = [deploymentId, threadId, JSON.stringify(metadata), values, interrupts, status];
  return { statement: NEW_THREAD_STATEMENT, parameters };
}

/**
 * Stores rows of a thread in one statement: one round trip, all or none. `key`: the thread's stored id. Returns whether
 * they were stored, as the condition says.
 */
export async function writeCheckpoints(
  pool: Pool,
  key: string,
  rows: Omit<CheckpointRows, 'threadId'>,
  condition: WriteCondition,
): Promise<boolean> {
  const { checkpoints, values } = rows;
  // One statement may replace a row only once, so the last one counts.
  const replacing = new Map(
    rows.writes.filter(({ replaces }) => replaces).map((row) => [keyOf(row), row] as const),
  );
  const writes = rows.writes.filter((row) => !row.replaces || replacing.get(keyOf(row)) === row);
  const result = await pool.query<{ held: boolean }>(condition.statement, [
    key,
    values.map(({ namespace }) => namespace),
    values.map(({ channel }) => channel),
    values.map(({ version }) => version),
    values.map(({ type }) => type),
    values.map(({ blob }) => (blob === undefined ? null : Buffer.from(blob))),
    checkpoints.map(({ namespace }) => namespace),
    checkpoints.map(({ id }) => id),
    checkpoints.map(({ parentId }) => parentId ?? null),
    checkpoints.map(({ checkpoint }) => JSON.stringify(checkpoint)),
    checkpoints.map(({ metadata }) => JSON.stringify(metadata)),
    writes.map(({ namespace }) => namespace),
    writes.map(({ checkpointId }) => checkpointId),
    writes.map(({ taskId }) => taskId),
    writes.map(({ index }) => index),
    writes.map(({ channel }) => channel),
    writes.map(({ type }) => type),
    writes.map(({ blob }) => Buffer.from(blob)),
    writes.map(({ replaces }) => replaces),
    ...condition.parameters,
  ]);
  return result.rows[0]?.held === true;
}

function keyOf({ namespace, checkpointId, taskId, index }: WriteRow): string {
  return JSON.stringify([namespace, checkpointId, taskId, index]);
}

const WRITE_COLUMNS = '(thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)';

/** The thread's row is changed, so a run that is accepted meanwhile sees the rows (`RunStore.accept`). */
const IDLE_THREAD_STATEMENT = writeStatement(`
  UPDATE slipway_agent.threads SET updated_at = now()
  WHERE deployment_id = $20 AND thread_id = $21::uuid AND status <> 'busy' RETURNING 1`);

const UNCHANGED_THREAD_STATEMENT = writeStatement(`
  UPDATE slipway_agent.threads
  SET "values" = $23::json, interrupts = $24::json, status = $25, error = NULL, updated_at = now()
  WHERE deployment_id = $20 AND thread_id = $21::uuid AND status <> 'busy' AND updated_at::text = $22 RETURNING 1`);

const NEW_THREAD_STATEMENT = writeStatement(`
  INSERT INTO slipway_agent.threads (deployment_id, thread_id, metadata, "values", interrupts, status)
  SELECT $20, $21::uuid, $22::jsonb, $23::json, $24::json, $25
  WHERE NOT EXISTS (SELECT 1 FROM slipway_agent.runs WHERE deployment_id = $20 AND thread_id = $21::uuid)
  ON CONFLICT DO NOTHING RETURNING 1`);

/** The run's row is locked during the write, so a claim of the run comes before or after it. */
const FENCED_STATEMENT = writeStatement(`
  SELECT 1 FROM slipway_agent.runs
  WHERE run_id = $20::uuid AND attempt = $21 AND owner = $22 AND status = 'running' FOR SHARE`);

function writeStatement(fence: string): string {
  return `
    WITH fence AS MATERIALIZED (${fence}), stored_values AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
      SELECT $1, v.* FROM fence, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) AS v
      ON CONFLICT (thread_id, checkpoint_ns, channel, version) DO NOTHING
    ), stored AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoints
        (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
      SELECT $1, c.ns, c.id, c.parent, c.checkpoint::jsonb, c.metadata::jsonb
      FROM fence, unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
        AS c (ns, id, parent, checkpoint, metadata)
      ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id)
      DO UPDATE SET checkpoint = EXCLUDED.checkpoint, metadata = EXCLUDED.metadata
    ), written AS (
      SELECT w.* FROM fence, unnest($12::text[], $13::text[], $14::text[], $15::int[], $16::text[], $17::text[],
        $18::bytea[], $19::boolean[]) AS w (ns, id, task, idx, channel, type, blob, replaces)
    ), earlier_command AS (
      DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes w USING written n
      WHERE n.task = '${COMMAND_TASK}' AND w.thread_id = $1 AND w.checkpoint_ns = n.ns AND w.checkpoint_id = n.id
        AND w.task_id = n.task AND NOT EXISTS (SELECT 1 FROM written other
          WHERE other.ns = n.ns AND other.id = n.id AND other.task = n.task AND other.idx = w.idx)
    ), added AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_writes ${WRITE_COLUMNS}
      SELECT $1, ns, id, task, idx, channel, type, blob FROM written WHERE NOT replaces
      ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO NOTHING
    ), replaced AS (
      INSERT INTO ${CHECKPOINT_SCHEMA}.checkpoint_writes ${WRITE_COLUMNS}
      SELECT $1, ns, id, task, idx, channel, type, blob FROM written WHERE replaces
      ON CONFLICT (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
      DO UPDATE SET channel = EXCLUDED.channel, type = EXCLUDED.type, blob = EXCLUDED.blob
    ) SELECT EXISTS (SELECT 1 FROM fence) AS held`;
}
