import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { prepareHome } from '../../../../test/support/preparedHome.ts';
import { temporaryFolder, useFolder } from '../../../../test/support/temporaryFolder.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { migrate } from '../../src/store/migrate.ts';
import { emptyDatabaseUrl } from '../testDatabase.ts';

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
