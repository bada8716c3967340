import { sql } from 'kysely';

import { DeploymentStore, type ProcessOfDeployment, type RunRecord } from './agentDatabase.ts';
import { CHECKPOINTS, storedThreadId } from './checkpointTables.ts';

/** How many webhooks one claim takes. */
const CLAIM_MAX = 20;

/** The webhooks of ended runs that their receivers have not accepted. */
export class PendingWebhooks extends DeploymentStore {
  readonly #processId: string;

  constructor(of: ProcessOfDeployment) {
    super(of);
    this.#processId = of.processId;
  }

  /**
   * Takes over those that are due, and those of dead processes. Each is due again after as long as it has waited since
   * the end of its run, until that is an hour: seven times, if no process dies.
   */
  async claim(): Promise<RunRecord[]> {
    const { rows } = await sql<RunRecord>`
      WITH due AS (
        SELECT r.run_id FROM slipway_agent.runs r
        WHERE r.deployment_id = ${this.deploymentId} AND r.webhook_due IS NOT NULL
          AND (r.webhook_due < now()
            OR NOT EXISTS (SELECT 1 FROM slipway_agent.processes p WHERE p.process_id = r.owner))
        ORDER BY r.webhook_due LIMIT ${CLAIM_MAX} FOR UPDATE SKIP LOCKED
      )
      UPDATE slipway_agent.runs r
      SET owner = ${this.#processId}, webhook_due = CASE WHEN now() < r.updated_at + interval '1 hour'
        THEN now() + greatest(now() - r.updated_at, interval '1 minute') END
      FROM due WHERE r.run_id = due.run_id
      RETURNING r.*`.execute(this.db);
    return rows;
  }

  /** Records that a receiver accepted a webhook. Values that a checkpoint of the run has are no longer kept twice. */
  async settle(run: Pick<RunRecord, 'run_id' | 'thread_id'>): Promise<void> {
    const key = storedThreadId(this.deploymentId, run.thread_id);
    await sql`UPDATE slipway_agent.runs
      SET webhook_due = NULL, output = CASE WHEN expires_at IS NULL AND EXISTS (
          SELECT 1 FROM ${CHECKPOINTS} WHERE thread_id = ${key} AND metadata->>'run_id' = ${run.run_id}
        ) THEN NULL ELSE output END
      WHERE run_id = ${run.run_id}`.execute(this.db);
  }
}
