import { randomUUID } from 'node:crypto';

import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';

import { type Database, openDatabase } from '../src/store/database.ts';
import { useFolder } from '../../../test/support/temporaryFolder.ts';
import { prepareHome } from '../../../test/support/preparedHome.ts';

/**
 * Opens an empty database, in `home` or on a real server. Tests with it run twice: in the project `platform` on the
 * embedded database, in the project `postgres` on a real PostgreSQL server (vitest.config.ts).
 */
export async function openTestDatabase(home: string): Promise<Database> {
  const databaseUrl = await emptyDatabaseUrl();
  if (databaseUrl === undefined) await prepareHome(home);
  return openDatabase({ home, databaseUrl });
}

/** One for all tests of a file. Use it only while they run; it is closed after them. */
export function useTestDatabase(): Pick<Database, 'kysely' | 'connectionString'> {
  const home = useFolder();
  let database: Database;
  beforeAll(async () => {
    database = await openTestDatabase(home);
  });
  afterAll(() => database.close());
  return {
    get kysely() {
      return database.kysely;
    },
    get connectionString() {
      return database.connectionString;
    },
  };
}

/** A new empty database on the real server, dropped after the file's tests; undefined if it is embedded. */
export async function emptyDatabaseUrl(): Promise<string | undefined> {
  const server = serverUrl();
  if (server === undefined) return undefined;
  const name = `slipway_test_${randomUUID().replaceAll('-', '')}`;
  await onServer(server, `create database ${name}`);
  made.push(name);
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

const made: string[] = [];

afterAll(async () => {
  // Also closes connections that a killed process left open.
  for (const name of made.splice(0)) {
    await onServer(serverUrl() ?? '', `drop database ${name} with (force)`);
  }
});

function serverUrl(): string | undefined {
  // Only the project `postgres` provides it, despite the type. If it has no server, its tests are skipped.
  const provided = inject('postgres') as { url?: string } | undefined;
  return provided?.url;
}

async function onServer(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(statement);
  await client.end();
}
