import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { createLogger } from '../../src/http/logger.ts';
import { startPlatform } from '../../src/platform.ts';
import { type Database, openDatabase, ownDatabase } from '../../src/store/databaseOwner.ts';
import { migrate } from '../../src/store/migrate.ts';
import { temporaryFolder, useFolder } from '../../../../test/support/temporaryFolder.ts';
import { emptyDatabaseUrl } from '../testDatabase.ts';

let url: string;
let client: pg.Client;

beforeAll(async () => {
  url = (await emptyDatabaseUrl()) ?? '';
  client = new pg.Client({ connectionString: url });
  await client.connect();
});

afterAll(() => client.end());

const fail = (error: Error): never => {
  throw error;
};
const IN_USE = { code: 'SLIPWAY_DATABASE_IN_USE' };
const HOLDERS = `select pid from pg_locks where locktype = 'advisory' and granted
  and database = (select oid from pg_database where datname = current_database())`;

const OWNER_LOCK = 735_104_227;
const MAIN = fileURLToPath(new URL('../../../../src/cli/main.ts', import.meta.url));

/** Breaks the owner's connection, and takes the lock before the owner can take it again. */
async function takeFromItsOwner(): Promise<pg.Client> {
  const [holder] = (await client.query<{ pid: number }>(HOLDERS)).rows;
  const other = new pg.Client({ connectionString: url });
  await other.connect();
  // The lock goes to the first client that waits for it.
  const taken = other.query('select pg_advisory_lock($1)', [OWNER_LOCK]);
  await vi.waitFor(async () => {
    const waiting = await client.query('select from pg_locks where not granted and objid = $1', [OWNER_LOCK]);
    expect(waiting.rowCount).toBe(1);
  }, 10_000);
  await client.query('select pg_terminate_backend($1)', [holder?.pid]);
  await taken;
  return other;
}

it('a database has one platform at a time', async () => {
  const owner = await ownDatabase(url, fail);
  await expect(ownDatabase(url, fail)).rejects.toMatchObject(IN_USE);
  await owner.release();
  await (await ownDatabase(url, fail)).release();
});

it('a platform whose connection breaks reports it, and takes its database again', async () => {
  const troubles: string[] = [];
  const owner = await ownDatabase(url, (error) => void troubles.push(error.message));
  const [holder] = (await client.query<{ pid: number }>(HOLDERS)).rows;
  await client.query('select pg_terminate_backend($1)', [holder?.pid]);
  await vi.waitFor(
    async () => {
      const [next] = (await client.query<{ pid: number }>(HOLDERS)).rows;
      expect(next?.pid).toBeTypeOf('number');
      expect(next?.pid).not.toBe(holder?.pid);
    },
    { timeout: 10_000 },
  );
  expect(troubles.length).toBeGreaterThan(0);
  await expect(ownDatabase(url, fail)).rejects.toMatchObject(IN_USE);
  await owner.release();
});

it('a platform whose database another one took during a broken connection reports it, and stays out', async () => {
  const owner = await ownDatabase(url, () => undefined);
  const other = await takeFromItsOwner();
  await expect(owner.lost).resolves.toMatchObject(IN_USE);
  await other.end();
  await owner.release();
});

it('a platform changes nothing, not even tables, in a database that another one uses', async () => {
  const owner = await ownDatabase(url, fail);
  const home = await temporaryFolder();
  const log = createLogger({ level: 'silent' });
  await expect(startPlatform({ home, databaseUrl: url, port: 0, log })).rejects.toMatchObject(IN_USE);
  const { rows } = await client.query<{ made: string | null }>(
    `select to_regclass('slipway_migrations') as made`,
  );
  expect(rows).toEqual([{ made: null }]);
  await owner.release();
});

it('the command exits 1 with the reason if another platform has taken its database', async () => {
  const home = await temporaryFolder();
  const platform = spawn(
    process.execPath,
    [...FROM_SOURCE, MAIN, 'platform', '--port', '0', '--home', home],
    { env: { ...process.env, DATABASE_URL: url }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  platform.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await once(platform.stdout, 'data');
  const other = await takeFromItsOwner();
  const [code] = (await once(platform, 'exit')) as [number | null];
  expect(errors).toContain('error SLIPWAY_DATABASE_IN_USE: Another platform took this database');
  expect(code).toBe(1);
  await other.end();
});

it('a server that does not answer is an error with a code', async () => {
  await expect(ownDatabase('postgres://127.0.0.1:1/none', fail)).rejects.toMatchObject({
    code: 'SLIPWAY_DATABASE_UNREACHABLE',
  });
});

const home = useFolder();
let databaseUrl: string | undefined;
let database: Database;

beforeAll(async () => {
  databaseUrl = await emptyDatabaseUrl();
  if (databaseUrl === undefined) await prepareHome(home);
  database = await open();
});

const open = (): Promise<Database> => openDatabase({ home, databaseUrl });

afterAll(async () => {
  await database.close();
});

const ledger = async (name: string): Promise<string[]> => {
  const { rows } = await sql<{
    name: string;
  }>`select name from ${sql.table(name)} order by applied_at`.execute(database.kysely);
  return rows.map((row) => row.name);
};

describe('the database', () => {
  it('is reachable through its connection string, and keeps external writes when it is opened again', async () => {
    const client = new pg.Client({ connectionString: database.connectionString });
    await client.connect();
    await client.query('create table kept (n int)');
    await client.query('insert into kept values (1)');
    await client.end();
    await database.close();
    database = await open();
    const { rows } = await sql`select n from kept`.execute(database.kysely);
    expect(rows).toEqual([{ n: 1 }]);
  });

  it('that does not answer is an error with a code, without the password', async () => {
    const databaseUrl = 'postgres://user:hunter2@127.0.0.1:1/none';
    const error: unknown = await openDatabase({ home, databaseUrl }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'SLIPWAY_DATABASE_UNREACHABLE',
      place: 'postgres://127.0.0.1:1/none',
    });
  });
});

describe('migrations', () => {
  it('run once each, in order, also if several processes start at the same time', async () => {
    const migrations = [
      { name: 'one', sql: ['create table steps (n int)', 'insert into steps values (1)'] },
      { name: 'two', sql: ['insert into steps values (2)'] },
    ];
    const run = (count: number) =>
      migrate(database.kysely, { ledger: 'test_ledger', migrations: migrations.slice(0, count) });
    await Promise.all([run(1), run(1), run(1)]);
    await Promise.all([run(2), run(2)]);
    const { rows } = await sql`select n from steps order by n`.execute(database.kysely);
    expect(rows).toEqual([{ n: 1 }, { n: 2 }]);
    expect(await ledger('test_ledger')).toEqual(['one', 'two']);
  });

  it('of a newer version keep this version out of the database', async () => {
    const other = await temporaryFolder();
    const url = await emptyDatabaseUrl();
    const place = { home: other, databaseUrl: url };
    if (url === undefined) await prepareHome(other);
    const newer = await openDatabase(place);
    await sql`insert into slipway_migrations values ('999 of a newer version', now())`.execute(newer.kysely);
    await newer.close();
    await expect(openDatabase(place)).rejects.toMatchObject({
      code: 'SLIPWAY_DATABASE_NEWER',
      message: expect.stringContaining('999 of a newer version') as string,
    });
  });

  it('that fail leave no partial change', async () => {
    const failing = migrate(database.kysely, {
      ledger: 'failing_ledger',
      migrations: [{ name: 'bad', sql: ['create table half_done (n int)', 'select 1/0'] }],
    });
    await expect(failing).rejects.toThrow('division by zero');
    const { rows } = await sql`select to_regclass('half_done') as found`.execute(database.kysely);
    expect(rows).toEqual([{ found: null }]);
  });
});
