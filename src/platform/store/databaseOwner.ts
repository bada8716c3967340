import pg from 'pg';

import { SlipwayError } from '../../domain/errors.ts';

/** A platform's hold on a database that others could open too. */
export interface DatabaseOwner {
  release(): Promise<void>;
}

/** The advisory lock that a platform holds: an arbitrary constant. */
const OWNER_LOCK = 735_104_227;
const RETRY_MS = 1_000;

/**
 * Makes this process the one platform on a Postgres server's database, by an advisory lock on a connection of its own:
 * two control planes on one database would both build every revision. The lock ends with the process, however it ends.
 * When the connection breaks, it is taken again as soon as it can be; `onTrouble` hears of it. (The embedded database
 * needs none of this: its data directory is locked.)
 * @throws SlipwayError SLIPWAY_DATABASE_IN_USE, SLIPWAY_DATABASE_UNREACHABLE.
 */
export async function ownDatabase(
  connectionString: string,
  onTrouble: (error: Error) => void,
): Promise<DatabaseOwner> {
  let released = false;
  let client: pg.Client | undefined;
  let retry: NodeJS.Timeout | undefined;

  const take = async (): Promise<void> => {
    const next = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000, keepAlive: true });
    let lost = false;
    const onLost = (error: Error): void => {
      if (lost || released || client !== next) return;
      lost = true;
      onTrouble(error);
      takeAgain();
    };
    next.on('error', onLost);
    next.on('end', () => onLost(new Error('The connection ended.')));
    await next.connect();
    const { rows } = await next.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [
      OWNER_LOCK,
    ]);
    if (rows[0]?.mine !== true) {
      await next.end();
      throw inUse();
    }
    client = next;
  };

  const takeAgain = (): void => {
    retry = setTimeout(() => {
      if (released) return;
      take().catch((error: unknown) => {
        onTrouble(error instanceof Error ? error : new Error(String(error)));
        takeAgain();
      });
    }, RETRY_MS);
  };

  try {
    await take();
  } catch (error) {
    if (error instanceof SlipwayError) throw error;
    throw new SlipwayError('SLIPWAY_DATABASE_UNREACHABLE', 'The database could not be opened.', {
      cause: error,
    });
  }
  return {
    release: async () => {
      released = true;
      clearTimeout(retry);
      await client?.end();
    },
  };
}

function inUse(): SlipwayError {
  return new SlipwayError('SLIPWAY_DATABASE_IN_USE', 'Another platform works on this database.', {
    hint: 'Stop that platform, or give this one a database of its own.',
  });
}
