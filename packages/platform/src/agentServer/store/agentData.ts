import { type Kysely, sql } from 'kysely';

import { CHECKPOINT_SCHEMA, storedThreadId } from './checkpointTables.ts';

/** The tables of agent servers that have a deployment's id. */
const BY_DEPLOYMENT = ['runs', 'threads', 'processes', 'assistants', 'store_items'].map(
  (table) => `slipway_agent.${table}`,
);

/** The tables of checkpoints, which only have stored thread ids. */
const BY_THREAD = ['writes_before_run', 'checkpoint_writes', 'checkpoint_blobs', 'checkpoints'].map(
  (table) => `${CHECKPOINT_SCHEMA}.${table}`,
);

/**
 * Removes everything that the agents of a deployment stored: threads, runs, their checkpoints, and the long-term
 * store. Safe to repeat, and if the tables do not exist. Feedback stays, because it belongs to the tracing project.
 */
export async function removeAgentData<Schema>(kysely: Kysely<Schema>, deploymentId: string): Promise<void> {
  for (const table of BY_DEPLOYMENT) {
    if (!(await exists(kysely, table))) continue;
    await sql`delete from ${sql.table(table)} where deployment_id = ${deploymentId}`.execute(kysely);
  }
  for (const table of BY_THREAD) {
    if (!(await exists(kysely, table))) continue;
    const mine = sql`starts_with(thread_id, ${storedThreadId(deploymentId, '')})`;
    await sql`delete from ${sql.table(table)} where ${mine}`.execute(kysely);
  }
}

async function exists<Schema>(kysely: Kysely<Schema>, table: string): Promise<boolean> {
  const { rows } = await sql<{ found: string | null }>`select to_regclass(${table})::text as found`.execute(
    kysely,
  );
  return rows[0]?.found != null;
}
