import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { PlatformError } from '../errors.ts';
import { openEmbeddedPostgres, type EmbeddedPostgres } from './embeddedPostgres.ts';
import { migrate } from './migrate.ts';
import { CONTROL_PLANE_MIGRATIONS } from './migrations.ts';
import type { Schema } from './schema.ts';

/** The platform's database, open and up to date. */
export interface Database {
  readonly kysely: Kysely<Schema>;
  /** A `postgres://` URL that child processes of this machine can connect to with `pg`. Carries a password. */
  readonly connectionString: string;
  close(): Promise<void>;
}

/** Where the database is. */
export interface DatabaseOptions {
  /** The home directory; the embedded database lies in its `postgres/`. */
  home: string;
  /** Any Postgres, from version 13. Default: the embedded one. */
  databaseUrl?: string;
  /** Told about connections that broke while idle, which the pool replaces, and about crashes of the embedded database. */
  onConnectionError?: (error: Error) => void;
}

/**
 * Opens the database and brings the control plane's tables up to date.
 * @throws PlatformError SLIPWAY_DATABASE_UNREACHABLE, SLIPWAY_DATABASE_NEWER; SLIPWAY_HOME_IN_USE for the embedded one.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  let closing = false;
  const onConnectionError = (error: Error): void => {
    // While it closes, the embedded server says good-bye to connections that are on their way out already.
    if (!closing) options.onConnectionError?.(error);
  };
  const embedded =
    options.databaseUrl === undefined
      ? await openEmbeddedPostgres(options.home, onConnectionError)
      : undefined;
  const connectionString = embedded?.connectionString ?? options.databaseUrl ?? '';
  const pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis: 10_000 });
  pool.on('error', onConnectionError);
  const kysely = new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
  const close = async (): Promise<void> => {
    closing = true;
    await kysely.destroy();
    await embedded?.close();
  };
  try {
    await sql`select 1`.execute(kysely);
    await migrate(kysely, { ledger: 'slipway_migrations', migrations: CONTROL_PLANE_MIGRATIONS });
  } catch (error) {
    await close();
    if (error instanceof PlatformError) throw error;
    throw unreachable(error, embedded, connectionString);
  }
  return { kysely, connectionString, close };
}

function unreachable(error: unknown, embedded: EmbeddedPostgres | undefined, url: string): PlatformError {
  return new PlatformError('SLIPWAY_DATABASE_UNREACHABLE', 'The database could not be opened.', {
    place: embedded === undefined ? withoutPassword(url) : 'the embedded database',
    hint: 'Check that the server answers and that the user may create tables.',
    cause: error,
  });
}

/** A database's URL as errors show it. */
export function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'the database URL (which does not read as a URL)';
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
