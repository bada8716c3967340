import { randomBytes } from 'node:crypto';

import { type Kysely, sql } from 'kysely';

import { AGENT_MIGRATIONS, AGENT_LEDGER } from '../agentServer/store/migrations.ts';
import { PlatformError } from '../errors.ts';
import { TRACING_LEDGER } from '../tracing/tracingStore.ts';
import { agentPassword, agentRole } from './agentRole.ts';
import type { Database } from './databaseOwner.ts';
import { migrate } from './migrate.ts';

/** The database as the agents of each deployment reach it. */
export type AgentStorage = ReturnType<typeof createAgentStorage>;

/** The role that all agents' roles are members of: it holds their privileges. */
const GROUP = 'slipway_agents';

/**
 * Makes {@link AgentStorage}. Each deployment has a database role of its own, which sees and writes the rows of that
 * deployment alone (row-level security) and may make nothing. Roles belong to the whole server; their passwords are new
 * with each process, as the agents are.
 */
export function createAgentStorage({ kysely, connectionString, embeddedSecret }: Database) {
  const secret = embeddedSecret ?? randomBytes(32);
  const roles = new Map<string, Promise<void>>();
  let prepared: Promise<void> | undefined;

  /**
   * Makes the agents' tables, and what their roles may do. Only the first call does anything, unless it failed.
   * @throws PlatformError SLIPWAY_USAGE where the platform's own role may not make roles.
   */
  const prepare = (): Promise<void> => {
    prepared ??= makeReady(kysely, embeddedSecret !== undefined).catch((error: unknown) => {
      prepared = undefined;
      throw error;
    });
    return prepared;
  };
  const haveRole = (role: string): Promise<void> => {
    const known = roles.get(role);
    if (known !== undefined) return known;
    const made = makeRole(kysely, role, agentPassword(secret, role));
    roles.set(role, made);
    made.catch(() => roles.delete(role));
    return made;
  };

  return {
    prepare,
    /**
     * The URL that a deployment's agents reach the database by: with a role and a password of their own.
     * @throws as `prepare` does.
     */
    urlOf: async (deploymentId: string): Promise<string> => {
      await prepare();
      const role = agentRole(deploymentId);
      await haveRole(role);
      const url = new URL(connectionString);
      url.username = role;
      url.password = agentPassword(secret, role);
      return url.href;
    },
    /** Forgets the role of a deployment that is deleted. */
    remove: async (deploymentId: string): Promise<void> => {
      const role = agentRole(deploymentId);
      roles.delete(role);
      await sql`drop role if exists ${sql.id(role)}`.execute(kysely);
    },
  };
}

async function makeReady<S>(kysely: Kysely<S>, isEmbedded: boolean): Promise<void> {
  await migrate(kysely, { ledger: AGENT_LEDGER, migrations: AGENT_MIGRATIONS });
  const { rows } = await sql<{ may: boolean }>`
    select rolsuper or rolcreaterole as may from pg_roles where rolname = current_user`.execute(kysely);
  if (rows[0]?.may !== true) throw mayMakeNoRoles();
  await sql
    .raw(
      `do $$ begin create role ${GROUP} nologin; exception when duplicate_object or unique_violation then null; end $$`,
    )
    .execute(kysely);
  const statements = [
    `grant usage on schema slipway_agent, slipway_checkpoints, slipway_tracing to ${GROUP}`,
    `grant select, insert, update, delete on all tables in schema slipway_agent, slipway_checkpoints to ${GROUP}`,
    `grant select, insert, update on all tables in schema slipway_tracing to ${GROUP}`,
    `grant usage on all sequences in schema slipway_agent to ${GROUP}`,
    `grant select on ${AGENT_LEDGER}, ${TRACING_LEDGER} to ${GROUP}`,
    // Up to version 14 everybody may make tables and functions there, which the platform's own statements would meet.
    'revoke create on schema public from public',
    ...(isEmbedded ? ONE_SESSION_FOR_ALL : []),
  ];
  for (const statement of statements) await sql.raw(statement).execute(kysely);
}

/**
 * The embedded engine is one session, of a superuser, which takes on an agent's role for each of its turns
 * (`sessionTurns.ts`). What could end that from inside a statement is nobody's.
 */
const ONE_SESSION_FOR_ALL = [
  'revoke execute on function pg_catalog.set_config(text, text, boolean) from public',
  'revoke update on pg_catalog.pg_settings from public',
  'revoke execute on function pg_catalog.pg_sleep(double precision) from public',
  'revoke execute on function pg_catalog.pg_sleep_for(interval) from public',
  'revoke execute on function pg_catalog.pg_sleep_until(timestamptz) from public',
  'revoke select on pg_catalog.pg_prepared_statements from public',
  'revoke execute on function pg_catalog.pg_prepared_statement() from public',
  'revoke temporary on database postgres from public',
];

async function makeRole<S>(kysely: Kysely<S>, role: string, password: string): Promise<void> {
  const name = `"${role}"`;
  await sql
    .raw(
      `do $$ begin create role ${name}; exception when duplicate_object or unique_violation then null; end $$`,
    )
    .execute(kysely);
  // The password has no character that a literal would have to escape.
  await sql.raw(`alter role ${name} login password '${password}'`).execute(kysely);
  await sql.raw(`grant ${GROUP} to ${name}`).execute(kysely);
}

function mayMakeNoRoles(): PlatformError {
  return new PlatformError(
    'SLIPWAY_USAGE',
    'The role of the platform in its database may not create roles, and each deployment gets one of its own.',
    {
      place: 'DATABASE_URL',
      hint: 'As a superuser of the server: ALTER ROLE <the role of DATABASE_URL> CREATEROLE',
    },
  );
}
