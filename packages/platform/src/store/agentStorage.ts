import { randomBytes } from 'node:crypto';

import { type Kysely, sql } from 'kysely';

import { AGENT_MIGRATIONS, AGENT_LEDGER } from '../agentServer/store/migrations.ts';
import { PlatformError } from '../errors.ts';
import { TRACING_LEDGER } from '../tracing/tracingStore.ts';
import { agentPassword, agentRole } from './agentRole.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';

/** The agents' access to the database, per deployment. */
export type AgentStorage = ReturnType<typeof createAgentStorage>;

/** The group of all agents' roles, which has their privileges. */
const GROUP = 'slipway_agents';

/**
 * Makes {@link AgentStorage}. Each deployment has its own database role, which sees and writes only that deployment's
 * rows (row-level security) and may create nothing. Roles belong to the whole server; their passwords are new with
 * each process, like the agents.
 */
export function createAgentStorage({ kysely, connectionString, embeddedSecret }: Database) {
  const secret = embeddedSecret ?? randomBytes(32);
  const roles = new Map<string, Promise<void>>();
  let prepared: Promise<void> | undefined;

  /**
   * Creates the agents' tables and the privileges of their roles, once; a failed call is repeated by the next.
   * @throws PlatformError SLIPWAY_USAGE if the platform's own role may not create roles.
   */
  const prepare = (): Promise<void> => {
    prepared ??= migrateAndGrant(kysely, embeddedSecret !== undefined).catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    return prepared;
  };
  const ensureRole = (role: string): Promise<void> => {
    const known = roles.get(role);
    if (known !== undefined) return known;
    const made = createRole(kysely, role, agentPassword(secret, role));
    roles.set(role, made);
    made.catch(() => roles.delete(role));
    return made;
  };

  return {
    prepare,
    /** The database URL of a deployment's agents, with their own role and password. @throws as `prepare` does. */
    urlOf: async (deploymentId: string): Promise<string> => {
      await prepare();
      const role = agentRole(deploymentId);
      await ensureRole(role);
      const url = new URL(connectionString);
      url.username = role;
      url.password = agentPassword(secret, role);
      return url.href;
    },
    /** Drops the role of a deleted deployment. */
    remove: async (deploymentId: string): Promise<void> => {
      const role = agentRole(deploymentId);
      roles.delete(role);
      await sql`drop role if exists ${sql.id(role)}`.execute(kysely);
    },
  };
}

async function migrateAndGrant<S>(kysely: Kysely<S>, isEmbedded: boolean): Promise<void> {
  await migrate(kysely, { ledger: AGENT_LEDGER, migrations: AGENT_MIGRATIONS });
  const { rows } = await sql<{ may: boolean }>`
    select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user`.execute(kysely);
  if (rows[0]?.may !== true) throw createRoleNotPermitted();
  await sql
    .raw(
      `do $$ begin create role ${GROUP} nologin; exception when duplicate_object or unique_violation then null; end $$`,
    )
    .execute(kysely);
  const statements = [
    `do $$ begin execute format('grant connect on database %I to ${GROUP}', current_database()); end $$`,
    `grant usage on schema slipway_agent, slipway_checkpoints, slipway_tracing to ${GROUP}`,
    `grant select, insert, update, delete on all tables in schema slipway_agent, slipway_checkpoints to ${GROUP}`,
    `grant select, insert, update on all tables in schema slipway_tracing to ${GROUP}`,
    `grant usage on all sequences in schema slipway_agent to ${GROUP}`,
    `grant select on ${AGENT_LEDGER}, ${TRACING_LEDGER} to ${GROUP}`,
    // Up to version 14, every role may create tables and functions there, which the platform's own statements could
    // resolve to.
    'revoke create on schema public from public',
    ...(isEmbedded ? SHARED_SESSION_REVOKES : []),
  ];
  for (const statement of statements) await sql.raw(statement).execute(kysely);
}

/** What could end an agent's role inside a statement: all share the embedded engine's one superuser session. */
const SHARED_SESSION_REVOKES = [
  'revoke execute on function pg_catalog.set_config(text, text, boolean) from public',
  'revoke update on pg_catalog.pg_settings from public',
  'revoke execute on function pg_catalog.pg_sleep(double precision) from public',
  'revoke execute on function pg_catalog.pg_sleep_for(interval) from public',
  'revoke execute on function pg_catalog.pg_sleep_until(timestamptz) from public',
  'revoke select on pg_catalog.pg_prepared_statements from public',
  'revoke execute on function pg_catalog.pg_prepared_statement() from public',
  'revoke temporary on database postgres from public',
];

async function createRole<S>(kysely: Kysely<S>, role: string, password: string): Promise<void> {
  const name = `"${role}"`;
  await sql
    .raw(
      `do $$ begin create role ${name}; exception when duplicate_object or unique_violation then null; end $$`,
    )
    .execute(kysely);
  // The password has no character that a literal must escape.
  await sql.raw(`alter role ${name} login password '${password}'`).execute(kysely);
  await sql.raw(`grant ${GROUP} to ${name}`).execute(kysely);
}

function createRoleNotPermitted(): PlatformError {
  return new PlatformError(
    'SLIPWAY_USAGE',
    'The platform’s database role cannot create roles, but each deployment needs its own role',
    {
      place: 'DATABASE_URL',
      hint: 'As a superuser of the server: ALTER ROLE <the role of DATABASE_URL> CREATEROLE',
    },
  );
}
