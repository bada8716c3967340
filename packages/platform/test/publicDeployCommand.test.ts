import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { startPlatformUnderTest } from './platformUnderTest.ts';
import { prepareHome } from '../../../test/support/preparedHome.ts';
import { useFolder } from '../../../test/support/temporaryFolder.ts';

/*
 * The published deploy command against this platform. It polls every three seconds, and each call starts a process. So
 * there are few calls, with many checks of each.
 */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const NODE_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
const COMMAND = join(NODE_MODULES, '@langchain/langgraph-cli/dist/cli/cli.mjs');
const LOOPBACK_ONLY = new URL('./fixtures/loopbackOnly.mjs', import.meta.url).href;
/** Uses this repository's modules for the agent, so that nothing is installed. */
const INSTALL = ['--install-command', `ln -s '${NODE_MODULES}' node_modules`];

const AGENT = `
import { Annotation, StateGraph } from '@langchain/langgraph';
const State = Annotation.Root({ name: Annotation(), said: Annotation() });
export const graph = new StateGraph(State)
  .addNode('greet', (state) => {
    const said = 'Hello ' + state.name + process.env.MARK;
    console.log(said);
    return { said };
  })
  .addEdge('__start__', 'greet')
  .compile();
`;

/** A configuration as in public projects, with fields that Slipway does not have. */
const LANGGRAPH_JSON = {
  node_version: '20',
  image_distro: 'wolfi',
  dependencies: ['.'],
  graphs: { greeter: { path: './graph.mjs:graph', description: 'Greets' } },
  env: '.env',
  http: { cors: { allow_origins: ['*'] } },
};

const folder = useFolder();
const agent = join(folder, 'agent');
let platform: ChildProcess;
let url: string;
let apiKey: string;
/** Set by the first deployment. */
let deploymentId = '';

beforeAll(async () => {
  await mkdir(agent);
  await mkdir(join(folder, 'home'));
  await writeFile(join(agent, 'langgraph.json'), JSON.stringify(LANGGRAPH_JSON));
  await writeFile(join(agent, 'graph.mjs'), AGENT);
  await writeFile(join(agent, '.env'), 'MARK=!\n');
  await writeFile(join(agent, '.gitignore'), '.env\n');
  await prepareHome(join(folder, 'platform'));
  ({ child: platform, url, apiKey } = await startPlatformUnderTest(join(folder, 'platform')));
});

afterAll(() => void platform.kill('SIGKILL'));

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs `langgraphjs deploy …` in the agent's folder, with an empty home and only loopback connections. */
async function deploy(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, [COMMAND, 'deploy', ...args, '--host-url', url], {
    cwd: agent,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: join(folder, 'home'),
      NODE_OPTIONS: `--import ${LOOPBACK_ONLY}`,
      NO_COLOR: '1',
      LANGGRAPH_CLI_NO_ANALYTICS: '1',
      LANGSMITH_API_KEY: apiKey,
    },
  });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, out, err };
}

function events({ out }: Ended): Record<string, unknown>[] {
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('langgraphjs deploy --remote, unchanged', () => {
  it('deploys a project with its langgraph.json, and the agent answers a run', async () => {
    const ended = await deploy(
      '--remote',
      '--name',
      'greeter',
      '--no-input',
      '--json',
      '--verbose',
      ...INSTALL,
    );
    expect(ended.code, ended.out + ended.err).toBe(0);
    const told = events(ended);
    const result = told.at(-1);
    expect(result).toMatchObject({ event: 'result', status: 'succeeded', url: expect.any(String) });
    deploymentId = String(result?.['deployment_id']);
    expect(result?.['url']).toBe(`${url}/agents/${deploymentId}`);
    expect(told).toContainEqual(expect.objectContaining({ event: 'upload_progress', pct: 100 }));

    const answer = await fetch(`${String(result?.['url'])}/runs/wait`, {
      method: 'POST',
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'greeter', input: { name: 'Ada' } }),
    });
    expect(await answer.json()).toMatchObject({ said: 'Hello Ada!' });
  });

  it('reports why a build failed, with its last lines, and the earlier revision keeps serving', async () => {
    const command = ['--install-command', 'ls nothing-of-this-name'];
    const ended = await deploy(
      '--remote',
      '--deployment-id',
      deploymentId,
      '--no-input',
      '--json',
      ...command,
    );
    expect(ended.code, ended.out + ended.err).toBe(1);
    const told = events(ended);
    expect(told.at(-1)).toMatchObject({ event: 'result', status: 'failed' });
    expect(told.map(({ message }) => message).join('\n')).toContain('nothing-of-this-name');
    const answer = await fetch(`${url}/agents/${deploymentId}/ok`, { headers: { 'x-api-key': apiKey } });
    expect(answer.status).toBe(200);
  });

  it('lists deployments and revisions, reads logs, and deletes', async () => {
    const [list, revisions, logs, told, early] = await Promise.all([
      deploy('list', '--name-contains', 'greet'),
      deploy('revisions', 'list', deploymentId),
      deploy('logs', '--type', 'build', '--name', 'greeter'),
      deploy('logs', '--deployment-id', deploymentId, '--query', 'HELLO ADA'),
      deploy('logs', '--deployment-id', deploymentId, '--end-time', '2020-01-01T00:00:00Z'),
    ]);
    expect(list.out, list.err).toContain(`${deploymentId}  greeter`);
    expect(list.out).toContain(`${url}/agents/${deploymentId}`);
    expect(revisions.out.match(/BUILD_FAILED|DEPLOYED|SKIPPED/gu), revisions.err).toEqual([
      'BUILD_FAILED',
      'DEPLOYED',
      'SKIPPED',
    ]);
    expect(logs.out, logs.err).toContain('nothing-of-this-name');
    expect(told.out, told.err).toMatch(/^\[[^\]]+\] Hello Ada!\n$/u);
    expect(early.out, early.err).toContain('No log entries found.');

    const deleted = await deploy('delete', deploymentId, '--force');
    expect(deleted.code, deleted.out + deleted.err).toBe(0);
    await vi.waitFor(async () => expect((await deploy('list')).out).toContain('No deployments found.'), {
      timeout: 30_000,
    });
  });
});
