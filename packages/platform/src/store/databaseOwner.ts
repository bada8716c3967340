import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';

import { PlatformError } from '../errors.ts';
import { openEmbeddedPostgres } from './embeddedPostgres.ts';
import { migrate } from './migrate.ts';
import { CONTROL_PLANE_MIGRATIONS } from './migrations.ts';
import { createPool } from './pool.ts';
import type { Schema } from './schema.ts';

/** The advisory lock that a platform holds: an arbitrary constant. */
const OWNER_LOCK = 735_104_227;
const RETRY_MS = 1_000;

/**
 * Makes this process the only platform on a Postgres database, by an advisory lock on a separate connection: two
 * control planes would both build every revision. The lock ends with the process, however it ends.
 *
 * If the connection breaks, the lock is retried at once, and then every second until the server answers;
 * `onConnectionError` is called for each failure. If another platform has the lock by then, `lost` resolves. (The
 * embedded database locks its data directory instead.)
 * @throws PlatformError SLIPWAY_DATABASE_IN_USE, SLIPWAY_DATABASE_UNREACHABLE.
 */
export async function ownDatabase(connectionString: string, onConnectionError: (error: Error) => void) {
  let released = false;
  let lockSession: LockSession | undefined;
  let retry: NodeJS.Timeout | undefined;
  let onLost: (error: PlatformError) => void;
  const lost = new Promise<PlatformError>((resolve) => (onLost = resolve));

  const acquireLock = async (): Promise<LockSession | undefined> => {
    const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000, keepAlive: true });
    let broken = false;
    const onBroken = (error: Error): void => {
      if (broken || released || lockSession?.client !== client) return;
      broken = true;
      onConnectionError(error);
      retryAcquireIn(0);
    };
    client.on('error', onBroken);
    client.on('end', () => onBroken(new Error('The connection ended.')));
    await client.connect();
    const { rows } = await client.query<{ mine: boolean; pid: number }>(
      'select pg_try_advisory_lock($1) as mine, pg_backend_pid() as pid',
      [OWNER_LOCK],
    );
    const { mine = false, pid = 0 } = rows[0] ?? {};
    if (mine) return { client, pid };
    // A server may take hours to notice a broken connection. Until then the lock is still ours.
    const isOurs = lockSession !== undefined && (await lockHolderPid(client)) === lockSession.pid;
    await client.end();
    if (isOurs) throw new Error('The server has not noticed yet that the connection is broken.');
    return undefined;
  };

  const retryAcquireIn = (ms: number): void => {
    retry = setTimeout(() => {
      acquireLock().then(
        (taken) => {
          if (taken === undefined)
            onLost(databaseInUse('Another platform took this database over. This one ends'));
          else if (released) void taken.client.end();
          else lockSession = taken;
        },
        (error: unknown) => {
          onConnectionError(error instanceof Error ? error : new Error(String(error)));
          if (!released) retryAcquireIn(RETRY_MS);
        },
      );
    }, ms);
  };

  lockSession = await acquireLock().catch((error: unknown) => {
    throw unreachable(error, withoutPassword(connectionString));
  });
  if (lockSession === undefined) throw databaseInUse('Another platform works on this database');
  return {
    /** Resolves when another platform has taken the database: this one must end. */
    lost,
    release: async (): Promise<void> => {
      released = true;
      clearTimeout(retry);
      await lockSession?.client.end();
    },
  };
}

interface LockSession {
  readonly client: pg.Client;
  readonly pid: number;
}

async function lockHolderPid(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>(
    `select pid from pg_locks where locktype = 'advisory' and granted and classid = 0 and objid = $1 and objsubid = 1
      and database = (select oid from pg_database where datname = current_database())`,
    [OWNER_LOCK],
  );
  return rows[0]?.pid;
}

function databaseInUse(message: string): PlatformError {
  return new PlatformError('SLIPWAY_DATABASE_IN_USE', message, {
    hint: 'Stop that platform, or give this one another database.',
  });
}

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
    throw unreachable(error, embedded ? 'the embedded database' : withoutPassword(connectionString));
  }
  return { kysely, connectionString, embeddedSecret: embedded?.secret, close };
}

function unreachable(cause: unknown, place: string): PlatformError {
  return new PlatformError('SLIPWAY_DATABASE_UNREACHABLE', 'The database could not be opened', {
    place,
    hint: 'Check that the server answers, accepts the user, and allows it to create tables.',
    cause,
  });
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return 'the database URL (which does not read as a URL)';
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
}
