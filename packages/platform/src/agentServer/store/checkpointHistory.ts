import type { Pool, QueryResult } from 'pg';

import { CHECKPOINT_SCHEMA, storedThreadId } from './agentDatabase.ts';

/** Copies and prunes the checkpoints of whole threads, which no graph does. */
export class CheckpointHistory {
  readonly #pool: Pool;
  readonly #deploymentId: string;

  constructor(pool: Pool, deploymentId: string) {
    this.#pool = pool;
    this.#deploymentId = deploymentId;
  }

  /** Copies every checkpoint of a thread to another, new thread. */
  async copy(fromThreadId: string, toThreadId: string): Promise<void> {
    const keys = [this.#key(fromThreadId), this.#key(toThreadId)];
    const copyOf = (table: string, columns: string) =>
      `INSERT INTO ${CHECKPOINT_SCHEMA}.${table} (thread_id, checkpoint_ns, ${columns})
       SELECT $2::text, checkpoint_ns, ${columns} FROM ${CHECKPOINT_SCHEMA}.${table} WHERE thread_id = $1`;
    await this.#pool.query(
      `WITH blobs AS (${copyOf('checkpoint_blobs', 'channel, version, type, blob')}),
         writes AS (${copyOf('checkpoint_writes', 'checkpoint_id, task_id, idx, channel, type, blob')})
       ${copyOf('checkpoints', 'checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata')}`,
      keys,
    );
  }

  /**
   * Drops a thread's history: only the newest checkpoint of each namespace stays. Returns whether it did. Decision:
   * not while runs are active on the thread, because a rollback or a further attempt needs the checkpoint they began
   * with. The thread's row is locked meanwhile, so no run is accepted in between.
   */
  async dropAllButNewest(threadId: string): Promise<boolean> {
    const key = this.#key(threadId);
    return this.#transaction(async (run) => {
      const { rowCount: idle } = await run(LOCK_IDLE_THREAD, [this.#deploymentId, threadId]);
      if (idle === 0) return false;
      for (const table of ['checkpoint_writes', 'checkpoints']) {
        await run(
          `DELETE FROM ${CHECKPOINT_SCHEMA}.${table} t WHERE t.thread_id = $1 AND NOT EXISTS (
             SELECT 1 FROM (${NEWEST}) n
             WHERE n.checkpoint_ns = t.checkpoint_ns AND n.checkpoint_id = t.checkpoint_id)`,
          [key],
        );
      }
      await run(DROP_UNUSED_BLOBS, [key]);
      return true;
    });
  }

  async #transaction<T>(
    work: (run: (sql: string, values: unknown[]) => Promise<QueryResult>) => Promise<T>,
  ): Promise<T> {
    const client = await this.#pool.connect();
    try {
      await client.query('BEGIN');
      const result = await work((sql, values) => client.query(sql, values));
      await client.query('COMMIT');
      return result;
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  #key(threadId: string): string {
    return storedThreadId(this.#deploymentId, threadId);
  }
}

/** A thread is `busy` exactly as long as it has active runs. */
const LOCK_IDLE_THREAD = `
  SELECT 1 FROM slipway_agent.threads
  WHERE deployment_id = $1 AND thread_id = $2 AND status <> 'busy' FOR UPDATE`;

/** The newest checkpoint of each namespace of the thread `$1`: checkpoint ids sort by time. */
const NEWEST = `
  SELECT checkpoint_ns, max(checkpoint_id) AS checkpoint_id
  FROM ${CHECKPOINT_SCHEMA}.checkpoints WHERE thread_id = $1 GROUP BY checkpoint_ns`;

/** Drops the values of the thread `$1` that no checkpoint refers to. */
const DROP_UNUSED_BLOBS = `
  DELETE FROM ${CHECKPOINT_SCHEMA}.checkpoint_blobs b WHERE b.thread_id = $1 AND NOT EXISTS (
    SELECT 1 FROM ${CHECKPOINT_SCHEMA}.checkpoints c
    WHERE c.thread_id = b.thread_id AND c.checkpoint_ns = b.checkpoint_ns
      AND c.checkpoint->'channel_versions'->>b.channel = b.version)`;
