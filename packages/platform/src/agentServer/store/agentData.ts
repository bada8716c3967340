import { type Kysely, sql } from 'kysely';

import { tableExists } from '../../store/migrate.ts';
import { CHECKPOINT_SCHEMA, storedThreadId } from './checkpointTables.ts';

/** The tables of agent servers that have a deployment's id. */
const BY_DEPLOYMENT = ['runs', 'threads', 'processes', 'assistants', 'store_items'];

/** The tables of checkpoints, which only have stored thread ids. */
const BY_THREAD = ['writes_before_run', 'checkpoint_writes', 'checkpoint_blobs', 'checkpoints'];

/**
 * Removes everything that the agents of a deployment stored: threads, runs, their checkpoints, and the long-term
 * store. Safe to repeat, and if the tables do not exist. Feedback stays, because it belongs to the tracing project.
 */
export async function removeAgentData<Schema>(kysely: Kysely<Schema>, deploymentId: string): Promise<void> {
  if (!(await tableExists(kysely, 'slipway_agent.runs'))) return;
  for (const name of BY_DEPLOYMENT) {
    const table = sql.table(`slipway_agent.${name}`);
    await sql`delete from ${table} where deployment_id = ${deploymentId}`.execute(kysely);
  }
  for (const name of BY_THREAD) {
    const table = sql.table(`${CHECKPOINT_SCHEMA}.${name}`);
    const mine = sql`starts_with(thread_id, ${storedThreadId(deploymentId, '')})`;
    await sql`delete from ${table} where ${mine}`.execute(kysely);
  }
}
