import { Kysely, PostgresDialect, sql } from 'kysely';

import { PlatformError } from '../errors.ts';
import { openEmbeddedPostgres } from './embeddedPostgres.ts';
import { migrate } from './migrate.ts';
import { CONTROL_PLANE_MIGRATIONS } from './migrations.ts';
import { createPool } from './pool.ts';
import type { Schema } from './schema.ts';

/** The platform's open and migrated database. */
export interface Database {
  readonly kysely: Kysely<Schema>;
  /** A `postgres://` URL for `pg` in this process. It contains a password with full access. */
  readonly connectionString: string;
  /** The secret for the passwords of agents' roles, if the database is embedded. */
  readonly embeddedSecret?: string;
  close(): Promise<void>;
}

/**
 * Opens the database and migrates the control plane's tables.
 * @throws PlatformError SLIPWAY_DATABASE_UNREACHABLE, SLIPWAY_DATABASE_NEWER; SLIPWAY_HOME_IN_USE for the embedded
 * one.
 */
export async function openDatabase(options: {
  /** The home directory; the embedded database is in its `postgres/`. */
  home: string;
  /** Any Postgres, from version 13. Default: the embedded one. */
  databaseUrl?: string;
  /** Called for broken idle connections, which the pool replaces, and for crashes of the embedded database. */
  onConnectionError?: (error: Error) => void;
  /** Called after each query, with its duration. */
  onQuery?: (seconds: number, result: 'ok' | 'error') => void;
}): Promise<Database> {
  let closing = false;
  const onConnectionError = (error: Error): void => {
    // While closing, the embedded server also ends connections that are closing already.
    if (!closing) options.onConnectionError?.(error);
  };
  const embedded =
    options.databaseUrl === undefined
      ? await openEmbeddedPostgres(options.home, onConnectionError)
      : undefined;
  const connectionString = embedded?.connectionString ?? options.databaseUrl ?? '';
  const pool = createPool({ connectionString, max: 10, connectionTimeoutMillis: 10_000 }, onConnectionError);
  const { onQuery } = options;
  const kysely = new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    ...(onQuery === undefined
      ? {}
      : {
          log: ({ level, queryDurationMillis }) =>
            onQuery(queryDurationMillis / 1_000, level === 'error' ? 'error' : 'ok'),
        }),
  });
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
    throw databaseUnreachable(error, options.databaseUrl);
  }
  return { kysely, connectionString, embeddedSecret: embedded?.secret, close };
}

/** `databaseUrl`: undefined for the embedded database. */
export function databaseUnreachable(cause: unknown, databaseUrl: string | undefined): PlatformError {
  return new PlatformError('SLIPWAY_DATABASE_UNREACHABLE', 'The database could not be opened', {
    place: databaseUrl === undefined ? 'the embedded database' : withoutPassword(databaseUrl),
    hint: 'Check that the server answers, accepts the user, and allows it to create tables.',
    cause,
  });
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'the database URL (which does not read as a URL)';
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
