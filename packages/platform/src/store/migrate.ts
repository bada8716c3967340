import { sql, type Kysely } from 'kysely';

import { PlatformError } from '../errors.ts';

/** One forward migration of a schema: statements in one transaction. */
export interface Migration {
  /** Unique in its list. Migrations run in list order, which never changes. */
  readonly name: string;
  readonly sql: readonly string[];
}

/** The lock between migrating processes, on any Postgres: an arbitrary constant. */
const MIGRATION_LOCK = 735_104_226;

/**
 * Migrates a schema: runs the migrations that `ledger` does not list, each in a transaction with its ledger entry.
 * Forward only. Concurrent processes wait for each other.
 * @param ledger The table of applied migrations; one per list.
 * @throws PlatformError SLIPWAY_DATABASE_NEWER if the ledger lists a migration that this version does not know.
 */
export async function migrate<S>(
  kysely: Kysely<S>,
  options: { ledger: string; migrations: readonly Migration[] },
): Promise<void> {
  const ledger = sql.table(options.ledger);
  if (await isUpToDate(kysely, options)) return;
  await kysely.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(trx);
    await sql`create table if not exists ${ledger} (name text primary key, applied_at timestamptz not null)`.execute(
      trx,
    );
    const { rows } = await sql<{ name: string }>`select name from ${ledger}`.execute(trx);
    const applied = new Set(rows.map((row) => row.name));
    const known = new Set(options.migrations.map(({ name }) => name));
    const unknown = [...applied].filter((name) => !known.has(name));
    if (unknown.length > 0) throw databaseNewerError(unknown);
    for (const migration of options.migrations) {
      if (applied.has(migration.name)) continue;
      for (const statement of migration.sql) await sql.raw(statement).execute(trx);
      await sql`insert into ${ledger} (name, applied_at) values (${migration.name}, now())`.execute(trx);
    }
  });
}

/** Needs neither a lock nor the right to create tables; usually there is nothing to migrate. */
async function isUpToDate<S>(
  kysely: Kysely<S>,
  { ledger, migrations }: { ledger: string; migrations: readonly Migration[] },
): Promise<boolean> {
  if (!(await tableExists(kysely, ledger))) return false;
  const applied = await sql<{ name: string }>`select name from ${sql.table(ledger)}`.execute(kysely);
  const names = new Set(applied.rows.map((row) => row.name));
  return names.size === migrations.length && migrations.every(({ name }) => names.has(name));
}

/** Whether a table (`schema.name`) exists. */
export async function tableExists<S>(kysely: Kysely<S>, table: string): Promise<boolean> {
  const { rows } = await sql`select where to_regclass(${table}) is not null`.execute(kysely);
  return rows.length > 0;
}

function databaseNewerError(unknown: readonly string[]): PlatformError {
  return new PlatformError(
    'SLIPWAY_DATABASE_NEWER',
    `A newer version of Slipway has changed this database: this version does not have the migrations "${unknown.join('", "')}"`,
    { hint: 'Start that version or a newer one. Nothing was changed.' },
  );
}
