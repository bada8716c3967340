import { randomUUID } from 'node:crypto';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { AssistantStore } from '../../src/agentServer/store/assistantStore.ts';
import { AgentStorage } from '../../src/store/agentStorage.ts';
import type { Database } from '../../src/store/database.ts';
import { openTracing } from '../../src/tracing/tracingStore.ts';
import { useFolder } from '../../../../test/support/temporaryFolder.ts';
import { openTestDatabase } from '../testDatabase.ts';

const home = useFolder();
const mine = randomUUID();
const other = randomUUID();
let database: Database;
let storage: AgentStorage;
let client: pg.Client;

const connected = async (connectionString: string): Promise<pg.Client> => {
  const made = new pg.Client({ connectionString });
  made.on('error', () => undefined);
  await made.connect();
  return made;
};
const insertThread = (deployment: string, client: pg.Client) =>
  client.query(
    'insert into slipway_agent.threads (deployment_id, thread_id, metadata) values ($1, $2, $3) returning thread_id',
    [deployment, randomUUID(), '{}'],
  );

beforeAll(async () => {
  database = await openTestDatabase(home);
  await openTracing(database.kysely);
  storage = new AgentStorage(database);
  const owner = await connected(database.connectionString);
  await storage.prepare();
  await insertThread(other, owner);
  await owner.query(
    `insert into slipway_checkpoints.checkpoints (thread_id, checkpoint_id, checkpoint) values ($1, 'c', '{}')`,
    [`${other}/t`],
  );
  await owner.end();
  await storage.urlOf(other);
});

beforeAll(async () => {
  client = await connected(await storage.urlOf(mine));
});

afterAll(async () => {
  await client.end();
  await storage.remove(mine);
  await storage.remove(other);
  await database.close();
});

describe("a deployment's role in the database", () => {
  it('is enough for an agent server, which finds its tables', async () => {
    const agents = await openAgentDatabase(await storage.urlOf(mine), () => undefined);
    const assistants = new AssistantStore({ db: agents.kysely, deploymentId: mine });
    await agents.kysely
      .transaction()
      .execute((trx) => trx.selectFrom('slipway_agent.runs').selectAll().execute());
    expect(assistants).toBeDefined();
    await agents.close();
  });

  it('sees and writes only the rows of its deployment', async () => {
    await insertThread(mine, client);
    const { rows } = await client.query('select deployment_id from slipway_agent.threads');
    expect(rows).toEqual([{ deployment_id: mine }]);
    await expect(insertThread(other, client)).rejects.toThrow('row-level security');
    expect((await client.query('update slipway_agent.threads set status = $1', ['x'])).rowCount).toBe(1);
    expect((await client.query('select 1 from slipway_checkpoints.checkpoints')).rowCount).toBe(0);
    expect((await client.query('delete from slipway_agent.threads')).rowCount).toBe(1);
  });

  it('has a policy for every table that it may read', async () => {
    const { rows } = await client.query<{ name: string }>(`
      select relname as name from pg_class join pg_namespace n on n.oid = relnamespace
      where nspname like 'slipway_%' and relkind = 'r' and not relrowsecurity`);
    expect(rows).toEqual([]);
  });

  it.each([
    'select * from deployments',
    'select sealed_secrets from revisions',
    'select rolpassword from pg_authid',
    "select pg_read_file('postgresql.conf')",
    'create table slipway_agent.mine (id int)',
    'create table public.mine (id int)',
    'alter table slipway_agent.threads disable row level security',
    'set role slipway_agents_of_nobody',
    'set session authorization postgres',
    "update pg_settings set setting = 'postgres' where name = 'role' returning set_config('role', 'postgres', false)",
  ])('rejects: %s', async (statement) => {
    const another = await connected(await storage.urlOf(mine));
    await expect(another.query(statement)).rejects.toThrow();
    await another.end().catch(() => undefined);
  });

  it('cannot be left by any statement', async () => {
    for (const statement of [
      'reset role',
      '/* select */ reset role',
      'select 1; reset role',
      "select set_config('role', 'none', false)",
      "do $$ begin execute 'reset role'; end $$",
      'discard all',
      'reset session authorization',
    ]) {
      const another = await connected(await storage.urlOf(mine));
      await another.query(statement).catch(() => undefined);
      await another.end().catch(() => undefined);
      const after = await connected(await storage.urlOf(mine));
      const { rows } = await after.query<{ who: string }>('select current_user as who');
      expect(rows[0]?.who).toBe(`slipway_agent_${mine}`);
      await expect(after.query('select 1 from deployments')).rejects.toThrow('permission denied');
      await after.end();
    }
  });

  it('is rejected with another role’s password', async () => {
    const url = new URL(await storage.urlOf(mine));
    url.password = new URL(await storage.urlOf(other)).password;
    await expect(connected(url.href)).rejects.toThrow('password authentication failed');
  });

  it('is dropped with its deployment', async () => {
    const brief = randomUUID();
    const url = await storage.urlOf(brief);
    await (await connected(url)).end();
    await storage.remove(brief);
    await expect(connected(url).then((made) => made.query('select 1'))).rejects.toThrow();
  });
});
