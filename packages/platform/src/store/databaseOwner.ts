import pg from 'pg';

import { PlatformError, toError } from '../errors.ts';
import { databaseUnreachable } from './database.ts';

/** The advisory lock that a platform holds: an arbitrary constant. */
const OWNER_LOCK = 735_104_227;
const RETRY_MS = 1_000;

interface LockSession {
  readonly client: pg.Client;
  readonly pid: number;
}

/**
 * Makes this process the only platform on a Postgres database, by an advisory lock on a separate connection: two
 * control planes would both build every revision. The lock ends with the process, however it ends.
 *
 * If the connection breaks, the lock is retried at once, and then every second until the server answers. If another
 * platform has the lock by then, `lost` resolves. (The embedded database locks its data directory instead.)
 */
export class DatabaseOwner {
  readonly #connectionString: string;
  readonly #onConnectionError: (error: Error) => void;
  #session: LockSession | undefined;
  #retry: NodeJS.Timeout | undefined;
  #isReleased = false;
  #onLost: (error: PlatformError) => void = () => undefined;
  /** Resolves when another platform has taken the database: this one must end. */
  readonly lost = new Promise<PlatformError>((resolve) => (this.#onLost = resolve));

  private constructor(connectionString: string, onConnectionError: (error: Error) => void) {
    this.#connectionString = connectionString;
    this.#onConnectionError = onConnectionError;
  }

  /**
   * Takes the lock. `onConnectionError` is called for each later failure of its connection.
   * @throws PlatformError SLIPWAY_DATABASE_IN_USE, SLIPWAY_DATABASE_UNREACHABLE.
   */
  static async claim(
    connectionString: string,
    onConnectionError: (error: Error) => void,
  ): Promise<DatabaseOwner> {
    const owner = new DatabaseOwner(connectionString, onConnectionError);
    owner.#session = await owner.#lock().catch((error: unknown) => {
      throw databaseUnreachable(error, connectionString);
    });
    if (owner.#session === undefined) throw databaseInUse('Another platform works on this database');
    return owner;
  }

  async release(): Promise<void> {
    this.#isReleased = true;
    clearTimeout(this.#retry);
    await this.#session?.client.end();
  }

  /** Undefined if another platform has the lock. */
  async #lock(): Promise<LockSession | undefined> {
    const client = new pg.Client({
      connectionString: this.#connectionString,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    });
    let isBroken = false;
    const onBroken = (error: Error): void => {
      if (isBroken || this.#isReleased || this.#session?.client !== client) return;
      isBroken = true;
      this.#onConnectionError(error);
      this.#lockAgainIn(0);
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
    const isOurs = this.#session !== undefined && (await lockHolderPid(client)) === this.#session.pid;
    await client.end();
    if (isOurs) throw new Error('The server has not noticed yet that the connection is broken.');
    return undefined;
  }

  #lockAgainIn(ms: number): void {
    this.#retry = setTimeout(() => void this.#lockAgain(), ms);
  }

  async #lockAgain(): Promise<void> {
    try {
      const session = await this.#lock();
      if (session === undefined)
        this.#onLost(databaseInUse('Another platform took this database over. This one ends'));
      else if (this.#isReleased) await session.client.end();
      else this.#session = session;
    } catch (error) {
      this.#onConnectionError(toError(error));
      if (!this.#isReleased) this.#lockAgainIn(RETRY_MS);
    }
  }
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
