import { type RawBuilder, sql, type Transaction } from 'kysely';

import { ACTIVE, type AgentTables, DeploymentStore, type RunRecord } from './agentDatabase.ts';
import {
  CHECKPOINT_SCHEMA,
  CHECKPOINTS,
  COMMAND_TASK,
  dropUnusedBlobs,
  newestCheckpoints,
  storedThreadId,
  WRITES,
} from './checkpointTables.ts';

/**
 * Rolls back a run's changes to its thread: the checkpoints it made, its writes to earlier ones (a resumed run makes
 * those), and the thread's graph, assistant and configuration. The writes that were pending when it began are kept for
 * that. Decision: what its nodes wrote to other threads stays, like all their effects elsewhere (contract 001: "thread
 * state reverts to before the run"). Other runs may have continued from there.
 */
export class RunFootprint extends DeploymentStore {
  /** Drops the kept writes of a run that has ended. */
  async dropSavedWrites(runId: string): Promise<void> {
    await sql`DELETE FROM ${SAVED_WRITES} WHERE run_id = ${runId}::uuid`.execute(this.db);
  }

  /**
   * Rolls a run back (contract 001, "States and transitions"): removes its checkpoints, and restores the thread with
   * the writes that were pending. Safe to repeat until the run has ended. Returns whether the owner still had the run in
   * this attempt.
   */
  async rollBack(run: RunRecord): Promise<boolean> {
    const { run_id: runId } = run;
    return this.#asOwner(run, async (transaction, key) => {
      await sql`
        UPDATE slipway_agent.threads t
        SET config = coalesce(r.config_before, '{}'),
          metadata = t.metadata - ${ORIGIN_NAMES}::text[] || (
            SELECT coalesce(jsonb_object_agg(key, value), '{}') FROM jsonb_each(r.metadata_before)
            WHERE key = ANY(${ORIGIN_NAMES}::text[]))
        FROM slipway_agent.runs r
        WHERE r.run_id = ${runId} AND t.deployment_id = r.deployment_id AND t.thread_id = r.thread_id
      `.execute(transaction);
      await sql`
        DELETE FROM ${WRITES} w USING ${CHECKPOINTS} c
        WHERE c.thread_id = ${key} AND c.metadata->>'run_id' = ${runId}
          AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id
      `.execute(transaction);
      await sql`DELETE FROM ${CHECKPOINTS} WHERE thread_id = ${key} AND metadata->>'run_id' = ${runId}`.execute(
        transaction,
      );
      await restorePendingWrites(transaction, { key, run });
      await dropUnusedBlobs(transaction, key);
    });
  }

  /**
   * Removes the pending answers, questions and updates that a run's `command` led to, so that it can be given again.
   * Duplicate answers would also answer the next question. Writes of finished nodes stay. Returns as {@link rollBack}.
   */
  async rollBackCommand(run: RunRecord): Promise<boolean> {
    return this.#asOwner(run, (transaction, key) =>
      restorePendingWrites(transaction, { key, run, only: COMMAND_WRITES }),
    );
  }

  /**
   * Removes the pending writes of a run that its graph cannot apply: with them, neither a client nor a later run could
   * read the thread. Returns as {@link rollBack}.
   */
  async rollBackWrites(run: RunRecord): Promise<boolean> {
    return this.#asOwner(run, (transaction, key) => restorePendingWrites(transaction, { key, run }));
  }

  /** Changes a thread while the owner has the run; a process that claims the run waits until that is done. */
  async #asOwner(
    run: RunRecord,
    change: (transaction: Transaction<AgentTables>, key: string) => Promise<void>,
  ): Promise<boolean> {
    return this.db.transaction().execute(async (transaction) => {
      // The thread's row is locked first, as in accepting a run.
      await sql`SELECT 1 FROM slipway_agent.threads WHERE ${this.threadCondition(run.thread_id)} FOR UPDATE`.execute(
        transaction,
      );
      const ownedRun = await transaction
        .selectFrom('slipway_agent.runs')
        .select('run_id')
        .where('run_id', '=', run.run_id)
        .where('owner', '=', run.owner)
        .where('attempt', '=', run.attempt)
        .where('status', 'in', ACTIVE)
        .forUpdate()
        .executeTakeFirst();
      if (ownedRun !== undefined) await change(transaction, storedThreadId(this.deploymentId, run.thread_id));
      return ownedRun !== undefined;
    });
  }
}

/** The statement that keeps the pending writes at the {@link startingPoints} of the run that `run` selects, if any. */
export function savePendingWrites(
  run: RawBuilder<unknown>,
  deploymentId: string,
  { threadId, kwargs }: { threadId: string; kwargs: unknown },
) {
  const key = storedThreadId(deploymentId, threadId);
  return sql`
    INSERT INTO ${SAVED_WRITES} (run_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
    SELECT r.run_id, w.thread_id, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob
    FROM (${run}) r, ${WRITES} w JOIN (${startingPoints(key, kwargs)}) n USING (checkpoint_ns, checkpoint_id)
    WHERE w.thread_id = ${key} RETURNING 1`;
}

/** Where a run may write before it makes checkpoints: to the newest ones, and to the one that it branches off. */
function startingPoints(key: string, kwargs: unknown): RawBuilder<unknown> {
  const { configurable } = (kwargs as { config: { configurable: { checkpoint_id: string | null } } }).config;
  return sql`${newestCheckpoints(key)} UNION SELECT '', ${configurable.checkpoint_id}::text`;
}

/** The SQL condition that a thread has no checkpoint yet. */
export function isThreadEmpty(deploymentId: string, threadId: string): RawBuilder<boolean> {
  const key = storedThreadId(deploymentId, threadId);
  return sql<boolean>`NOT EXISTS (SELECT 1 FROM ${CHECKPOINTS} WHERE thread_id = ${key})`;
}

/** The names in a thread's metadata that its newest begun run sets ({@link setMarks}). */
const ORIGIN_NAMES = ['graph_id', 'assistant_id'];

const SAVED_WRITES = sql.table(`${CHECKPOINT_SCHEMA}.writes_before_run`);

/** LangGraph's names for what a command leaves pending: answers, further questions, and writes of no task. */
const COMMAND_WRITES = sql`w.channel IN ('__resume__', '__interrupt__') OR w.task_id = ${COMMAND_TASK}`;

/** Restores the pending writes at a run's {@link startingPoints} to the kept ones. `only`: those that match. */
async function restorePendingWrites(
  transaction: Transaction<AgentTables>,
  { key, run, only = sql`true` }: { key: string; run: RunRecord; only?: RawBuilder<unknown> },
): Promise<void> {
  const points = startingPoints(key, run.kwargs);
  await sql`
    DELETE FROM ${WRITES} w USING (${points}) n
    WHERE w.thread_id = ${key} AND w.checkpoint_ns = n.checkpoint_ns AND w.checkpoint_id = n.checkpoint_id
      AND (${only})`.execute(transaction);
  await sql`
    INSERT INTO ${WRITES} (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
    SELECT thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
    FROM ${SAVED_WRITES} w JOIN (${points}) n USING (checkpoint_ns, checkpoint_id)
    WHERE run_id = ${run.run_id}::uuid AND (${only})
    ON CONFLICT DO NOTHING`.execute(transaction);
}
