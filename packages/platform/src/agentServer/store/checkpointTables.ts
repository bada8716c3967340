import { CompiledQuery, type RawBuilder, sql, type Transaction } from 'kysely';

import type { AgentTables } from './agentDatabase.ts';

/** The Postgres schema that holds the checkpoints of every deployment of a platform. */
export const CHECKPOINT_SCHEMA = 'slipway_checkpoints';

export const CHECKPOINTS = sql.table(`${CHECKPOINT_SCHEMA}.checkpoints`);
export const WRITES = sql.table(`${CHECKPOINT_SCHEMA}.checkpoint_writes`);
export const BLOBS = sql.table(`${CHECKPOINT_SCHEMA}.checkpoint_blobs`);

/** The task id of what a command writes: its update, its jumps, an answer to every interrupt. */
export const COMMAND_TASK = '00000000-0000-0000-0000-000000000000';

/** A thread's id in these tables, which have no column for the deployment. */
export function storedThreadId(deploymentId: string, threadId: string): string {
  return `${deploymentId}/${threadId}`;
}

/** The newest checkpoint of each namespace of a thread. Checkpoint ids sort by time. */
export function newestCheckpoints(key: string): RawBuilder<unknown> {
  return sql`SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id
    FROM ${CHECKPOINTS} WHERE thread_id = ${key} GROUP BY checkpoint_ns`;
}

/** Removes everything of threads from these tables. The parameter: the list of their stored ids. */
export const DELETE_THREADS = `
  WITH writes AS (DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_writes WHERE thread_id = ANY($1::text[])),
    blobs AS (DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs WHERE thread_id = ANY($1::text[])),
    kept AS (DELETE FROM ${CHECKPOINT_SCHEMA}.writes_before_run WHERE thread_id = ANY($1::text[]))
  DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = ANY($1::text[])`;

/** Removes threads from these tables, in the transaction that removes their records. */
export async function deleteThreads(
  transaction: Transaction<AgentTables>,
  keys: readonly string[],
): Promise<void> {
  await transaction.executeQuery(CompiledQuery.raw(DELETE_THREADS, [keys]));
}

/** Drops the values of a thread that no checkpoint refers to. */
export async function dropUnusedBlobs(transaction: Transaction<AgentTables>, key: string): Promise<void> {
  await sql`
    DELETE FROM ${BLOBS} b WHERE b.thread_id = ${key} AND NOT EXISTS (
      SELECT 1 FROM ${CHECKPOINTS} c
      WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
        AND c.checkpoint->'channel_versions'->>b.channel = b.version)`.execute(transaction);
}
