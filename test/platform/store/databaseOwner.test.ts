import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { ownDatabase } from '../../../src/platform/store/databaseOwner.ts';
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

it('a database is a real PostgreSQL 15 or newer here', async () => {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  expect(Number(rows[0]?.server_version_num)).toBeGreaterThanOrEqual(150_000);
});

it('a database has one platform, until that lets it go', async () => {
  const owner = await ownDatabase(url, fail);
  await expect(ownDatabase(url, fail)).rejects.toMatchObject(IN_USE);
  await owner.release();
  await (await ownDatabase(url, fail)).release();
});

it('a platform whose connection is cut off says so, and takes its database again', async () => {
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

it('a server that does not answer is an error with a code', async () => {
  await expect(ownDatabase('postgres://127.0.0.1:1/none', fail)).rejects.toMatchObject({
    code: 'SLIPWAY_DATABASE_UNREACHABLE',
  });
});
