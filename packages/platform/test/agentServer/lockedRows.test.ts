import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { emptyDatabaseUrl } from '../testDatabase.ts';
import {
  type AgentUnderTest,
  apiOf,
  endInOrder,
  gate,
  startAgentUnderTest,
  steps,
  until,
} from './agentUnderTest.ts';

/** On a real PostgreSQL only: there, a statement that waits for a row does not block others. */
let agent: AgentUnderTest;
const api = apiOf(() => agent.url);
let holder: pg.Client;
let runHolder: pg.Client;
let looker: pg.Client;

beforeAll(async () => {
  const databaseUrl = (await emptyDatabaseUrl()) ?? '';
  agent = await startAgentUnderTest({
    env: { SLIPWAY_AGENT_DATABASE_URL: databaseUrl, SLIPWAY_AGENT_DEPLOYMENT_ID: 'locked-rows' },
  });
  const connect = async () => {
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    return client;
  };
  [holder, runHolder, looker] = await Promise.all([connect(), connect(), connect()]);
}, 180_000);

afterAll(async () => {
  await Promise.all([holder, runHolder, looker].map((client) => client.end()));
  await endInOrder(agent);
});

const ROLLBACK = '?action=rollback';
const INTERRUPT = '?action=interrupt';

/** A run whose graph has ended. The update of its end waits for the thread's row in the database. */
async function ending() {
  const hold = gate();
  const thread = await api.thread();
  const body = steps(hold.path);
  const run = await api.create(thread, body);
  await api.untilLogged(thread, 1);
  await holder.query('BEGIN');
  await holder.query(`SELECT 1 FROM slipway_agent.threads WHERE thread_id = $1 FOR UPDATE`, [thread]);
  await hold.open();
  await untilWaiting('%threads%for update%', 1);
  return { thread, run, path: `/threads/${thread}/runs/${run.run_id}` };
}

/** Waits until a statement waits for a row that a client has locked, whatever row it waited for before. */
async function untilBlockedBy(client: pg.Client) {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return until(async () => {
    const found = await looker.query(
      'SELECT 1 FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))',
      [rows[0]?.pid],
    );
    return found.rowCount === 1;
  }, 'a statement waits for the client');
}

/** Waits until so many statements like this wait for a locked row. */
function untilWaiting(statement: string, count: number) {
  return until(async () => {
    const found = await looker.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE wait_event_type = 'Lock' AND datname = current_database() AND query ILIKE $1`,
      [statement],
    );
    return found.rowCount === count;
  }, `${count} statements wait: ${statement}`);
}

describe('a cancel that arrives after a run’s graph has ended', () => {
  it('takes effect if the end is not stored yet: the run is interrupted', async () => {
    const { path, thread } = await ending();
    const { status } = await api.send('POST', `${path}/cancel${INTERRUPT}`);
    await holder.query('COMMIT');
    expect(status).toBe(202);
    await api.json('GET', `${path}/join`);
    expect(await api.json('GET', path)).toMatchObject({ status: 'interrupted' });
    const left = await api.threadOf(thread);
    expect(left).toMatchObject({ status: 'idle', values: { log: ['first', 'second'] } });
  });

  it('takes effect if the end is not stored yet: the run is rolled back', async () => {
    const { path, thread } = await ending();
    const { status } = await api.send('POST', `${path}/cancel${ROLLBACK}`);
    await holder.query('COMMIT');
    expect(status).toBe(202);
    await until(
      async () => (await api.send('GET', path)).status === 404,
      'the run is taken back with everything that it did',
    );
    expect(await api.threadOf(thread)).toMatchObject({ status: 'idle', values: null });
  });

  it.each([INTERRUPT, ROLLBACK])(
    'is rejected (%s) if the end is stored, and changes nothing',
    async (action) => {
      const { path, run } = await ending();
      await runHolder.query('BEGIN');
      await runHolder.query(`SELECT 1 FROM slipway_agent.runs WHERE run_id = $1 FOR UPDATE`, [run.run_id]);
      await holder.query('COMMIT');
      await untilBlockedBy(runHolder);
      const cancelled = api.send('POST', `${path}/cancel${action}`);
      await untilWaiting('%update%runs%', 2);
      // The end came first, so it gets the row first.
      await runHolder.query('COMMIT');
      const response = await cancelled;
      expect([response.status, await response.json()]).toEqual([
        409,
        { detail: expect.stringMatching(/neither pending nor running but success/) },
      ]);
      expect(await api.json('GET', path)).toMatchObject({ status: 'success' });
    },
  );
});

describe('a state that is written by hand while a run starts', () => {
  const byHand = { values: { log: ['by hand'] }, as_node: 'first' };

  /** Sends the requests one after another. Each waits for the thread's row, and gets it in this order. */
  async function inOrder(thread: string, requests: readonly [path: string, body: object][]) {
    await holder.query('BEGIN');
    await holder.query(`SELECT 1 FROM slipway_agent.threads WHERE thread_id = $1 FOR UPDATE`, [thread]);
    const answers: Promise<Response>[] = [];
    for (const [path, body] of requests) {
      answers.push(api.send('POST', `/threads/${thread}/${path}`, body));
      await untilWaiting('%update slipway_agent.threads%', answers.length);
    }
    await holder.query('COMMIT');
    return answers;
  }

  it('is rejected if the run comes first, and changes nothing', async () => {
    const hold = gate();
    const thread = await api.thread();
    await api.wait(thread, steps());
    const [ran, written] = await inOrder(thread, [
      ['runs/wait', steps(hold.path)],
      ['state', byHand],
    ]);
    expect((await written)?.status).toBe(409);
    await hold.open();
    expect(await (await ran)?.json()).toMatchObject({ log: ['first', 'second', 'first', 'second'] });
    expect((await api.state(thread)).values.log).toHaveLength(4);
  });

  it('is seen by the run if it comes first', async () => {
    const created = await api.json('POST', '/threads', { metadata: { graph_id: 'steps' } });
    const thread = String(created.thread_id);
    const [written, ran] = await inOrder(thread, [
      ['state', byHand],
      ['runs/wait', steps()],
    ]);
    expect((await written)?.status).toBe(200);
    expect(await (await ran)?.json()).toMatchObject({ log: ['by hand', 'first', 'second'] });
  });
});
