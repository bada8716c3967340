import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { PGlite } from '@electric-sql/pglite';

import { SlipwayError } from '../../domain/errors.ts';
import { lockHome } from './homeLock.ts';
import { servePglite } from './pgliteServer.ts';

/** A Postgres inside this process, reachable by the Postgres protocol from this machine. */
export interface EmbeddedPostgres {
  /** With a password that is new each time. */
  readonly connectionString: string;
  close(): Promise<void>;
}

/**
 * Opens the embedded Postgres in `<home>/postgres`, creating it where it is missing (0.8–5 s, 300–800 MB resident:
 * one per machine, not one per agent). Its data directory belongs to one process at a time.
 * @throws SlipwayError SLIPWAY_HOME_IN_USE, SLIPWAY_DATABASE_UNREACHABLE.
 */
export async function openEmbeddedPostgres(home: string): Promise<EmbeddedPostgres> {
  const lock = await lockHome(home, 'postgres');
  try {
    const db = await openDataDirectory(join(home, 'postgres'));
    const password = randomBytes(24).toString('base64url');
    const server = await servePglite({ db, password });
    return {
      connectionString: `postgres://postgres:${password}@127.0.0.1:${server.port}/postgres?sslmode=disable`,
      close: async () => {
        await server.close();
        await db.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function openDataDirectory(path: string): Promise<PGlite> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  try {
    return await PGlite.create(path);
  } catch (error) {
    throw new SlipwayError('SLIPWAY_DATABASE_UNREACHABLE', 'The embedded database could not be opened.', {
      place: path,
      hint: 'Check that the directory is writable and the disk is not full.',
      cause: error,
    });
  }
}
