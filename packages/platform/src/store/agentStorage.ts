import { randomBytes } from 'node:crypto';

import { type Kysely, sql } from 'kysely';

import { AGENT_MIGRATIONS, AGENT_LEDGER } from '../agentServer/store/migrations.ts';
import { PlatformError } from '../errors.ts';
import { TRACING_LEDGER } from '../tracing/tracingStore.ts';
import { agentPassword, agentRole } from './agentRole.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';

/** The group of all agents' roles, which has their privileges. */
const GROUP = 'slipway_agents';

/**
 * The agents' access to the database. Each deployment has its own database role, which sees and writes only that
 * deployment's rows (row-level security) and may create nothing. Roles belong to the whole server; their passwords are
 * new with each process, like the agents.
 */
export class AgentStorage {
  readonly #database: Database;
  readonly #secret: string | Buffer;
  readonly #roles = new Map<string, Promise<void>>();
  #prepared: Promise<void> | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#secret = database.embeddedSecret ?? randomBytes(32);
  }

  /**
   * Creates the agents' tables and the privileges of their roles, once; a failed call is repeated by the next.
   * @throws PlatformError SLIPWAY_USAGE if the platform's own role may not create roles.
   */
  prepare(): Promise<void> {
    const { kysely, embeddedSecret } = this.#database;
    this.#prepared ??= migrateAndGrant(kysely, embeddedSecret !== undefined).catch((error: unknown) => {
      this.#prepared = undefined;
      throw error;
    });
    return this.#prepared;
  }

  /** The database URL of a deployment's agents, with their own role and password. @throws as `prepare` does. */
  async urlOf(deploymentId: string): Promise<string> {
    await this.prepare();
    const role = agentRole(deploymentId);
    const password = agentPassword(this.#secret, role);
    await this.#ensureRole(role, password);
    const url = new URL(this.#database.connectionString);
    url.username = role;
    url.password = password;
    return url.href;
  }

  /** Drops the role of a deleted deployment. */
  async remove(deploymentId: string): Promise<void> {
    const role = agentRole(deploymentId);
    this.#roles.delete(role);
    await sql`drop role if exists ${sql.id(role)}`.execute(this.#database.kysely);
  }

  #ensureRole(role: string, password: string): Promise<void> {
    const known = this.#roles.get(role);
    if (known !== undefined) return known;
    const made = createRole(this.#database.kysely, role, password);
    this.#roles.set(role, made);
    made.catch(() => this.#roles.delete(role));
    return made;
  }
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
