/* eslint-disable @typescript-eslint/no-unsafe-call -- answers are judged by what the tests expect of them */
import { cp, mkdir, mkdtemp, readdir, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { apiOf, echo, FIXTURE_AGENT, launchAgent, runOf, steps } from './agentUnderTest.ts';
import { useAgentProcesses } from './durableAgents.ts';
import { listen } from '../../../../test/support/listen.ts';

const agents = useAgentProcesses(FIXTURE_AGENT);

describe.concurrent('an agent’s process', { timeout: 180_000 }, () => {
  it('requires the API key except at /ok and feedback links, and dies with its parent', async () => {
    const agent = await agents.start('keyed', { SLIPWAY_AGENT_API_KEY: 'open sesame' });
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
    expect((await wrong.send('POST', '/runs/wait', echo())).status).toBe(403);
    expect((await withKey.wait(undefined, echo())).text).toBe('echo: x');
    expect(
      (await agent.api.send('GET', `/api/v1/feedback/tokens/${crypto.randomUUID()}?score=1`)).status,
    ).toBe(404);
    expect(agent.stdout() + agent.stderr()).not.toContain('open sesame');
    agent.child.stdin.end();
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });
});

describe.concurrent('an agent that cannot start', { timeout: 180_000 }, () => {
  const agentWith = async (files: Record<string, string>) => {
    const dir = await mkdtemp(join(agents.folder(), 'broken-'));
    await mkdir(dir, { recursive: true });
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
    return dir;
  };
  const graphs = (path: string) => JSON.stringify({ graphs: { bot: path } });

  /** What `slipway agent --json` prints instead of its address. */
  const failureOf = ({ stdout }: Pick<ReturnType<typeof launchAgent>, 'stdout'>) => {
    const { event, code, message, hint, exitCode } = JSON.parse(stdout()) as Record<string, unknown>;
    expect({ event, exitCode }).toEqual({ event: 'error', exitCode: 1 });
    return `${String(code)}: ${String(message)}. ${String(hint)}`;
  };

  it.each<[string, Record<string, string>, string, Record<string, string>, RegExp]>([
    [
      'its graph throws',
      {
        'graph.json': graphs('./bot.mjs:graph'),
        'bot.mjs': 'console.log("loading"); throw new Error("no luck\\ntoday")',
      },
      '',
      {},
      /^SLIPWAY_GRAPH_NOT_LOADED: Graph "bot" \(\.\/bot\.mjs:graph\).*Error: no luck today/,
    ],
    [
      'it is no folder',
      { 'bot.mjs': '' },
      'bot.mjs',
      {},
      /^SLIPWAY_USAGE: .*bot\.mjs is not a folder that can be/,
    ],
    [
      'a setting says nothing',
      {},
      '',
      { SLIPWAY_AGENT_CONCURRENT_RUNS: 'many' },
      /^SLIPWAY_AGENT_SETTING_INVALID: SLIPWAY_AGENT_CONCURRENT_RUNS is "many"\./,
    ],
    [
      'a setting is longer than a timer',
      {},
      '',
      { SLIPWAY_AGENT_RUN_SECONDS: '2592000' },
      /^SLIPWAY_AGENT_SETTING_INVALID: SLIPWAY_AGENT_RUN_SECONDS is "2592000"\. Give a number from 0\.001 to 2000000/,
    ],
  ])('exits 1 with the reason: %s', async (_, files, name, env, reason) => {
    const dir = join(await agentWith(files), name);
    const agent = launchAgent({ dir, env: { SLIPWAY_AGENT_DATABASE_URL: agents.databaseUrl(), ...env } });
    expect((await agent.exited).code).toBe(1);
    expect(failureOf(agent)).toMatch(reason);
  });

  it('exits 1 before it loads the graph if its port is taken', async () => {
    const dir = await agentWith({
      'graph.json': graphs('./bot.mjs:graph'),
      'bot.mjs': 'console.log("loading"); export const graph = {}',
    });
    const taken = createServer();
    const { port } = new URL(await listen(taken));
    const agent = launchAgent({ dir, port: Number(port) });
    expect((await agent.exited).code).toBe(1);
    taken.close();
    expect(agent.stderr()).toBe('');
    expect(failureOf(agent)).toBe(
      `SLIPWAY_PORT_UNAVAILABLE: Another process listens on 127.0.0.1:${port}. Choose another port with --port; 0 takes a free one.`,
    );
  });
});

describe.concurrent('an agent with its own copy of LangGraph', { timeout: 180_000 }, () => {
  it('is served from TypeScript in a folder without a module type', async () => {
    const dir = await mkdtemp(join(agents.folder(), 'copy-'));
    const modules = fileURLToPath(new URL('../../../../node_modules', import.meta.url));
    await mkdir(join(dir, 'node_modules', '@langchain'), { recursive: true });
    for (const name of await readdir(modules)) {
      if (name !== '@langchain') await symlink(join(modules, name), join(dir, 'node_modules', name));
    }
    for (const name of ['core', 'langgraph', 'langgraph-checkpoint', 'langgraph-sdk']) {
      const parts = ['@langchain', name] as const;
      // Leaves out what no module loads.
      await cp(join(modules, ...parts), join(dir, 'node_modules', ...parts), {
        recursive: true,
        filter: (source) => !/\.(?:d\.[cm]?ts|map|md)$/.test(source),
      });
    }
    await cp(join(FIXTURE_AGENT, 'graphs.ts'), join(dir, 'graphs.ts'));
    await writeFile(join(dir, '.env'), 'GREETING="from a file"\nSLIPWAY_TEST_OVERRIDDEN=source\n');
    const names = ['echo', 'chat', 'ask', 'steps', 'parent'];
    const entries = Object.fromEntries(names.map((name) => [name, `./graphs.ts:${name}`]));
    await writeFile(join(dir, 'graph.json'), JSON.stringify({ graphs: entries, env: '.env' }));

    const { api } = await agents.start('copy', {}, dir);
    const thread = await api.thread();
    const echoed = await api.wait(thread, echo());
    expect(echoed).toEqual({ text: 'echo: x', log: ['from a file'] });
    const other = await api.thread();
    const asked = await api.wait(other, runOf('ask', 'x'));
    expect(asked.__interrupt__).toMatchObject([{ value: 'what now?' }]);
    const command = { resume: 'yes', update: { text: 'changed' } };
    const resumed = await api.wait(other, { assistant_id: 'ask', command });
    expect(resumed).toEqual({ text: 'changed', log: ['before', 'answer: yes'] });
    const chat = { assistant_id: 'chat', input: { messages: [{ role: 'user', content: 'x' }] } };
    const third = await api.thread();
    await api.wait(third, chat);
    const twice = await api.wait(third, chat);
    expect(twice.messages.map((message: { type: string }) => message.type)).toEqual([
      'human',
      'ai',
      'human',
      'ai',
    ]);
    const run = await api.create(thread, steps(60_000));
    await api.untilLogged(thread, 2);
    await api.send('POST', `/threads/${thread}/runs/${run.run_id}/cancel?action=rollback&wait=true`);
    expect((await api.state(thread)).values).toEqual(echoed);
  });
});
