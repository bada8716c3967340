import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { SecretsRotation } from '../../src/controlPlane/secretsRotation.ts';
import { type Database, openDatabase } from '../../src/store/database.ts';
import { loadMasterKey, loadSealing, pendingMasterKey, secretsKeyOf } from '../../src/store/keyFiles.ts';
import { createSealing, type Sealing } from '../../src/store/sealing.ts';
import { emptyDatabaseUrl } from '../testDatabase.ts';
import { FROM_SOURCE } from '../../../../test/support/fromSource.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';

// Starts processes one after another, which takes long on a busy machine.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const DEPLOYMENTS = 450;
const SECRETS = JSON.stringify([{ name: 'TOKEN', value: 'hunter2-hunter2' }]);
/** The lock that an update of a deployment waits for, after so many have passed. */
const GATE = 20_261_121;

const home = useFolder();
let databaseUrl: string;
let database: Database;
/** Holds locks, so that the rotation stops at a certain point. */
let holder: pg.Client;

beforeAll(async () => {
  databaseUrl = (await emptyDatabaseUrl()) ?? '';
  database = await openDatabase({ home, databaseUrl });
  holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  const sealing = createSealing(secretsKeyOf(await loadMasterKey(home, {})));
  const at = new Date();
  const rows = Array.from({ length: DEPLOYMENTS }, (_, index) => {
    const id = randomUUID();
    return {
      id,
      name: `deployment ${index}`,
      source: 'internal_source',
      tenant_id: id,
      status: 'READY' as const,
      source_config: '{}',
      sealed_secrets: sealing.seal(SECRETS, id),
      created_at: at,
      updated_at: at,
    };
  });
  await database.kysely.insertInto('deployments').values(rows).execute();
  await sql`create sequence updates`.execute(database.kysely);
});

afterAll(async () => {
  await holder.end();
  await database.close();
});

/** Lets so many updates of deployments pass. The others wait until the gate is opened. */
async function holdAfter(updates: number): Promise<() => Promise<void>> {
  const { kysely } = database;
  await holder.query(`select pg_advisory_lock(${GATE}), setval('updates', 1, false)`);
  await sql
    .raw(
      `create function waits() returns trigger language plpgsql as $$ begin
        if nextval('updates') > ${updates} then perform pg_advisory_xact_lock(${GATE}); end if; return new; end $$`,
    )
    .execute(kysely);
  await sql`create trigger waits before update on deployments for each row execute function waits()`.execute(
    kysely,
  );
  return async () => {
    await holder.query(`select pg_advisory_unlock(${GATE})`);
    await sql`drop trigger waits on deployments`.execute(kysely);
    await sql`drop function waits`.execute(kysely);
  };
}

/** Lets all values be sealed again, but holds the final check for others. */
async function holdLastLook(): Promise<() => Promise<void>> {
  await holder.query('begin');
  await holder.query('lock table revisions in row exclusive mode');
  return async () => {
    await holder.query('commit');
  };
}

/** How many statements wait for our lock, by a connection outside of its transaction. */
async function waiting(): Promise<number> {
  const { rows } = await sql`
    select 1 from pg_locks join pg_stat_activity using (pid)
    where not granted and datname = current_database()`.execute(database.kysely);
  return rows.length;
}

function startRotation(): ChildProcess {
  const script = fileURLToPath(new URL('../fixtures/rotatingProcess.ts', import.meta.url));
  return spawn(process.execPath, [...FROM_SOURCE, script, home, databaseUrl], { stdio: 'inherit' });
}

async function start() {
  const sealing = await loadSealing(home, {});
  return { sealing, rotation: new SecretsRotation({ kysely: database.kysely, home, sealing }) };
}

async function opened(sealing: Sealing): Promise<Set<string>> {
  const rows = await database.kysely.selectFrom('deployments').select(['id', 'sealed_secrets']).execute();
  expect(rows).toHaveLength(DEPLOYMENTS);
  return new Set(rows.map((row) => sealing.open(row.sealed_secrets, row.id)));
}

const masterKey = (): Promise<string> => readFile(join(home, 'master.key'), 'utf8');

describe('a rotation of the master key that is killed', () => {
  it.each([
    ['before the first value is sealed anew', 0, () => holdAfter(0)],
    ['between two batches', 200, () => holdAfter(200)],
    ['when every value is sealed anew, and the key before is still the one', DEPLOYMENTS, holdLastLook],
  ] as const)('%s, leaves every secret readable, and can be run again', async (_, resealed, hold) => {
    const before = await masterKey();
    const letGo = await hold();
    const rotation = startRotation();
    const ended = once(rotation, 'exit');
    const met = vi.waitFor(async () => expect(await waiting()).toBe(1), { timeout: 110_000, interval: 20 });
    const early = ended.then(([code]) => {
      throw new Error(`the rotation ended with ${String(code)} before it came to where it is killed`);
    });
    await Promise.race([met, early]);
    rotation.kill('SIGKILL');
    await ended;
    // Otherwise the server would finish the statement after its client has gone.
    await holder.query(
      `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
       where not granted and datname = current_database()`,
    );
    await vi.waitFor(async () => expect(await waiting()).toBe(0), { timeout: 20_000, interval: 20 });
    await letGo();

    expect(await masterKey()).toBe(before);
    await access(join(home, 'master.key.next'));
    const after = await start();
    expect(await opened(after.sealing)).toEqual(new Set([SECRETS]));
    const rows = await database.kysely.selectFrom('deployments').select(['id', 'sealed_secrets']).execute();
    const newest = rows.filter((row) => after.sealing.isNewest(row.sealed_secrets, row.id));
    expect(newest).toHaveLength(resealed);

    expect(await after.rotation.rotate()).toBe(DEPLOYMENTS - resealed);
    expect(await masterKey()).not.toBe(before);
    expect(await pendingMasterKey(home)).toBeUndefined();
    const alone = createSealing(secretsKeyOf(await loadMasterKey(home, {})));
    expect(await opened(alone)).toEqual(new Set([SECRETS]));
  });
});
