/* eslint-disable @typescript-eslint/no-unsafe-call -- answers are judged by what the tests expect of them */
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Database } from '../../../src/platform/store/database.ts';
import { openTestDatabase } from '../testDatabase.ts';
import {
  type AgentUnderTest,
  apiOf,
  FIXTURE_AGENT,
  gate,
  launchAgent,
  startAgentUnderTest,
  until,
} from './agentUnderTest.ts';

let home: string;
let database: Database;
const started: AgentUnderTest[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'slipway-agents-'));
  database = await openTestDatabase(home);
});

afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  await Promise.all(started.map(({ exited }) => exited));
  await database.close();
  await rm(home, { recursive: true, force: true });
});

async function start(deployment: string, env: Record<string, string> = {}, dir = FIXTURE_AGENT) {
  const agent = await startAgentUnderTest({
    dir,
    env: {
      SLIPWAY_AGENT_DATABASE_URL: database.connectionString,
      SLIPWAY_AGENT_DEPLOYMENT_ID: deployment,
      ...env,
    },
  });
  started.push(agent);
  return { ...agent, api: apiOf(agent.url) };
}

/** Waits until the deployment's process has said so often that it lives. */
async function heartbeats(deployment: string, count: number) {
  const client = new pg.Client({ connectionString: database.connectionString });
  await client.connect();
  const latest = async () => {
    const query =
      'select max(heartbeat_at)::text as at from slipway_agent.processes where deployment_id = $1';
    return (await client.query<{ at: string }>(query, [deployment])).rows[0]?.at;
  };
  for (let seen = 0; seen < count; seen++) {
    const before = await latest();
    await until(async () => (await latest()) !== before, 'the process has said that it lives');
  }
  await client.end();
}

const steps = (text: number | string) => ({ assistant_id: 'steps', input: { text: String(text) } });
const echo = { assistant_id: 'echo', input: { text: 'x' } };

describe.concurrent('agent processes of one database', { timeout: 180_000 }, () => {
  it('share the threads of their deployment and cancel and join each other’s runs', async () => {
    const [one, two, stranger] = await Promise.all([start('shared'), start('shared'), start('other')]);
    const thread = await one.api.thread();
    const run = await one.api.json('POST', `/threads/${thread}/runs`, steps(60_000));
    await one.api.untilLogged(thread, 1);
    expect((await two.api.send('POST', `/threads/${thread}/runs`, echo)).status).toBe(409);
    const joined = two.api.json('GET', `/threads/${thread}/runs/${run.run_id}/join`);
    const queued = await two.api.json('POST', `/threads/${thread}/runs`, {
      ...echo,
      multitask_strategy: 'enqueue',
    });
    expect(
      (await two.api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?wait=true`)).status,
    ).toBe(204);
    expect((await one.api.json('GET', `/threads/${thread}/runs/${run.run_id}`)).status).toBe('interrupted');
    expect((await joined).log).toEqual(['first']);
    expect((await one.api.json('GET', `/threads/${thread}/runs/${queued.run_id}/join`)).text).toBe('echo: x');

    expect((await stranger.api.send('GET', `/threads/${thread}`)).status).toBe(404);
    const twin = { thread_id: thread, if_exists: 'raise' };
    expect((await stranger.api.send('POST', '/threads', twin)).status).toBe(200);
    expect((await stranger.api.json('GET', `/threads/${thread}/state`)).values).toEqual({});
    const bulk = await stranger.api.send('POST', '/runs/cancel', { status: 'all' });
    expect(bulk.status).toBe(404);
  });

  it('let running runs end at SIGTERM, leave waiting ones to the next, and exit 0', async () => {
    const hold = gate();
    const first = await start('drained', { SLIPWAY_AGENT_DRAIN_MS: '120000' });
    const thread = await first.api.thread();
    const running = await first.api.json('POST', `/threads/${thread}/runs`, steps(hold.path));
    const pending = await first.api.json('POST', `/threads/${thread}/runs`, {
      ...echo,
      multitask_strategy: 'enqueue',
    });
    await first.api.untilLogged(thread, 1);
    const joined = first.api.json('GET', `/threads/${thread}/runs/${running.run_id}/join`);
    first.child.kill('SIGTERM');
    await until(
      async () => (await first.api.send('POST', '/runs/wait', echo)).status === 503,
      'new runs are turned away',
    );
    await heartbeats('drained', 2);
    await hold.open();
    expect(await joined).toMatchObject({ log: ['first', 'second'] });
    expect(await first.exited).toEqual({ code: 0, signal: null });
    const second = await start('drained');
    const taken = await second.api.json('GET', `/threads/${thread}/runs/${pending.run_id}/join`);
    expect(taken).toMatchObject({ text: 'echo: x' });
  });

  it('die with their parent', async () => {
    const agent = await start('orphan');
    agent.child.stdin!.end();
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });

  it('ask for the API key everywhere but at /ok and at feedback links', async () => {
    const agent = await start('keyed', { SLIPWAY_AGENT_API_KEY: 'open sesame' });
    const withKey = apiOf(agent.url, { 'x-api-key': 'open sesame' });
    expect((await agent.api.send('GET', '/ok')).status).toBe(200);
    for (const path of [
      '/info',
      '/assistants/echo',
      '/threads/x',
      '/nothing',
      `/api/v1/runs/${crypto.randomUUID()}/feedback`,
    ]) {
      expect((await agent.api.send('GET', path)).status, path).toBe(401);
    }
    const wrong = apiOf(agent.url, { 'x-api-key': 'open sesam' });
    expect((await wrong.send('POST', '/runs/wait', echo)).status).toBe(403);
    expect((await withKey.json('POST', '/runs/wait', echo)).text).toBe('echo: x');
    expect(
      (await agent.api.send('GET', `/api/v1/feedback/tokens/${crypto.randomUUID()}?score=1`)).status,
    ).toBe(404);
    expect(agent.stdout() + agent.stderr()).not.toContain('open sesame');
  });
});

describe('an agent that cannot be served', { timeout: 180_000 }, () => {
  const agentWith = async (files: Record<string, string>) => {
    const dir = await mkdtemp(join(home, 'broken-'));
    await mkdir(dir, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
    return dir;
  };
  const graphs = (path: string) => JSON.stringify({ graphs: { bot: path } });

  it('exits 1, and says why in its last line', async () => {
    const dir = await agentWith({
      'graph.json': graphs('./bot.mjs:graph'),
      'bot.mjs': 'console.log("loading"); throw new Error("no luck\\ntoday")',
    });
    const agent = launchAgent({ dir, env: { SLIPWAY_AGENT_DATABASE_URL: database.connectionString } });
    expect((await agent.exited).code).toBe(1);
    const last = agent.stderr().trimEnd().split('\n').at(-1);
    expect(last).toMatch(
      /^SLIPWAY_GRAPH_NOT_LOADED: Graph "bot" \(\.\/bot\.mjs:graph\).*Error: no luck today/,
    );
    expect(agent.stdout()).toBe('');
  });
});

describe('an agent with its own copy of LangGraph', { timeout: 180_000 }, () => {
  it('is served like any other, from TypeScript in a folder that does not say what its modules are', async () => {
    const dir = await mkdtemp(join(home, 'copy-'));
    const modules = fileURLToPath(new URL('../../../node_modules', import.meta.url));
    await mkdir(join(dir, 'node_modules', '@langchain'), { recursive: true });
    for (const name of await readdir(modules)) {
      if (name !== '@langchain') await symlink(join(modules, name), join(dir, 'node_modules', name));
    }
    for (const name of ['core', 'langgraph', 'langgraph-checkpoint', 'langgraph-sdk']) {
      const parts = ['@langchain', name] as const;
      await cp(join(modules, ...parts), join(dir, 'node_modules', ...parts), { recursive: true });
    }
    await cp(join(FIXTURE_AGENT, 'graphs.ts'), join(dir, 'graphs.ts'));
    await writeFile(join(dir, '.env'), 'GREETING="from a file"\nSLIPWAY_TEST_OVERRIDDEN=source\n');
    const names = ['echo', 'chat', 'ask', 'steps', 'parent'];
    const entries = Object.fromEntries(names.map((name) => [name, `./graphs.ts:${name}`]));
    await writeFile(join(dir, 'graph.json'), JSON.stringify({ graphs: entries, env: '.env' }));

    const { api } = await start('copy', {}, dir);
    const thread = await api.thread();
    const echoed = await api.json('POST', `/threads/${thread}/runs/wait`, echo);
    expect(echoed).toEqual({ text: 'echo: x', log: ['from a file'] });
    const other = await api.thread();
    const asked = await api.json('POST', `/threads/${other}/runs/wait`, {
      assistant_id: 'ask',
      input: { text: 'x' },
    });
    expect(asked.__interrupt__).toMatchObject([{ value: 'what now?' }]);
    const command = { resume: 'yes', update: { text: 'changed' } };
    const resumed = await api.json('POST', `/threads/${other}/runs/wait`, { assistant_id: 'ask', command });
    expect(resumed).toEqual({ text: 'changed', log: ['before', 'answer: yes'] });
    const chat = { assistant_id: 'chat', input: { messages: [{ role: 'user', content: 'x' }] } };
    const third = await api.thread();
    await api.json('POST', `/threads/${third}/runs/wait`, chat);
    const twice = await api.json('POST', `/threads/${third}/runs/wait`, chat);
    expect(twice.messages.map((message: { type: string }) => message.type)).toEqual([
      'human',
      'ai',
      'human',
      'ai',
    ]);
    const run = await api.json('POST', `/threads/${thread}/runs`, steps(60_000));
    await api.untilLogged(thread, 2);
    await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?action=rollback&wait=true`);
    expect((await api.json('GET', `/threads/${thread}/state`)).values).toEqual(echoed);
  });
});
