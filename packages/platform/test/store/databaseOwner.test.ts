import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import pg from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';

import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { createLogger } from '../../src/http/logger.ts';
import { startPlatform } from '../../src/platform.ts';
import { DatabaseOwner } from '../../src/store/databaseOwner.ts';
import { temporaryFolder } from '../../../../test/support/temporaryFolder.ts';
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
  const owner = await DatabaseOwner.claim(url, fail);
  await expect(DatabaseOwner.claim(url, fail)).rejects.toMatchObject(IN_USE);
  await owner.release();
  await (await DatabaseOwner.claim(url, fail)).release();
});

it('a platform whose connection breaks reports it, and takes its database again', async () => {
  const troubles: string[] = [];
  const owner = await DatabaseOwner.claim(url, (error) => void troubles.push(error.message));
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
  await expect(DatabaseOwner.claim(url, fail)).rejects.toMatchObject(IN_USE);
  await owner.release();
});

it('a platform whose database another one took during a broken connection reports it, and stays out', async () => {
  const owner = await DatabaseOwner.claim(url, () => undefined);
  const other = await takeFromItsOwner();
  await expect(owner.lost).resolves.toMatchObject(IN_USE);
  await other.end();
  await owner.release();
});

it('a platform changes nothing, not even tables, in a database that another one uses', async () => {
  const owner = await DatabaseOwner.claim(url, fail);
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
  await expect(DatabaseOwner.claim('postgres://127.0.0.1:1/none', fail)).rejects.toMatchObject({
    code: 'SLIPWAY_DATABASE_UNREACHABLE',
  });
});
