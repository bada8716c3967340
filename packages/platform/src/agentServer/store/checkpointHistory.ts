import { randomUUID } from 'node:crypto';

import { type RawBuilder, sql } from 'kysely';

import { DeploymentStore } from './agentDatabase.ts';
import {
  BLOBS,
  CHECKPOINTS,
  dropUnusedBlobs,
  newestCheckpoints,
  storedThreadId,
  WRITES,
} from './checkpointTables.ts';
import { threadNotFound } from './threadProblems.ts';

/** Copies and prunes the checkpoints of whole threads, which no graph does. */
export class CheckpointHistory extends DeploymentStore {
  /** Copies a thread. The values of a thread that was busy are those before its run. @throws HttpProblem 404 */
  async copy(threadId: string): Promise<{ copyId: string; wasBusy: boolean }> {
    const copyId = randomUUID();
    const from = storedThreadId(this.deploymentId, threadId);
    const to = storedThreadId(this.deploymentId, copyId);
    const source = sql`FROM slipway_agent.threads WHERE ${this.threadCondition(threadId)}`;
    const copyOf = (table: RawBuilder<unknown>, names: string) => {
      const columns = sql.raw(names);
      return sql`
        INSERT INTO ${table} (thread_id, checkpoint_ns, ${columns})
        SELECT ${to}::text, checkpoint_ns, ${columns} FROM ${table} WHERE thread_id = ${from}`;
    };
    const { rows } = await sql<{ status: string }>`
      WITH blobs AS (${copyOf(BLOBS, 'channel, version, type, blob')}),
        writes AS (${copyOf(WRITES, 'checkpoint_id, task_id, idx, channel, type, blob')}),
        checkpoints AS (
          INSERT INTO ${CHECKPOINTS}
            (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
          SELECT ${to}::text, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint,
            metadata || jsonb_build_object('thread_id', ${copyId}::text)
          FROM ${CHECKPOINTS} WHERE thread_id = ${from}
        ),
        thread AS (
          INSERT INTO slipway_agent.threads (deployment_id, thread_id, metadata, config, "values", interrupts, error, status)
          SELECT deployment_id, ${copyId}::uuid, metadata, config, "values", interrupts, error,
            CASE status WHEN 'busy' THEN 'idle' ELSE status END ${source}
        )
      SELECT status ${source}`.execute(this.db);
    const [copied] = rows;
    if (copied === undefined) throw threadNotFound(threadId);
    return { copyId, wasBusy: copied.status === 'busy' };
  }

  /**
   * Drops a thread's history: only the newest checkpoint of each namespace stays. Returns whether it did. Decision:
   * not while runs are active on the thread, because a rollback or a further attempt needs the checkpoint they began
   * with. The thread's row is changed, so that neither a run nor a state written by hand begins with a dropped one.
   */
  async dropAllButNewest(threadId: string): Promise<boolean> {
    const key = storedThreadId(this.deploymentId, threadId);
    return this.db.transaction().execute(async (transaction) => {
      // A thread is `busy` exactly as long as it has active runs.
      const idleThread = await sql`UPDATE slipway_agent.threads SET updated_at = now()
        WHERE ${this.threadCondition(threadId)} AND status <> 'busy' RETURNING 1`.execute(transaction);
      if (idleThread.rows.length === 0) return false;
      for (const table of [WRITES, CHECKPOINTS]) {
        await sql`
          DELETE FROM ${table} t WHERE t.thread_id = ${key} AND NOT EXISTS (
            SELECT 1 FROM (${newestCheckpoints(key)}) n
            WHERE n.checkpoint_ns = t.checkpoint_ns AND n.checkpoint_id = t.checkpoint_id)
        `.execute(transaction);
      }
      await dropUnusedBlobs(transaction, key);
      return true;
    });
  }
}
