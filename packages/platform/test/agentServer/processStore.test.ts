import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';

import { type AgentDatabase, openAgentDatabase } from '../../src/agentServer/store/agentDatabase.ts';
import { ProcessStore } from '../../src/agentServer/store/processStore.ts';
import { useTestDatabase } from '../testDatabase.ts';

const server = useTestDatabase();
let database: AgentDatabase;

beforeAll(async () => {
  database = await openAgentDatabase(server.connectionString, () => undefined);
});

afterAll(() => database.close());

it('a process that died before the clock went back is dead after its lease', async () => {
  const db = database.kysely;
  const store = new ProcessStore({ db, deploymentId: 'd', leaseMs: 100 });
  const dead = { process_id: 'dead', deployment_id: 'd', host: 'another', pid: 1, lease_ms: 100 };
  const heartbeat_at = sql<Date>`now() + interval '1 hour'`;
  await db
    .insertInto('slipway_agent.processes')
    .values({ ...dead, heartbeat_at })
    .execute();
  const isListed = async () => {
    await store.removeDead();
    return (await db.selectFrom('slipway_agent.processes').select('process_id').execute()).length > 0;
  };
  expect(await isListed()).toBe(true);
  await expect.poll(isListed).toBe(false);
});
