import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Process } from '../processes.ts';
import { AGENT_INTRUDER, IMAGE_INTRUDER } from './agentIntruders.ts';
import { missingFor, mustPodman, NODE } from './engine.ts';
import { type PlatformApi, startContained } from './platformApi.ts';

const IMAGE = 'localhost/slipway-test/intruder:latest';
const NODE_MODULES = fileURLToPath(new URL('../../../node_modules', import.meta.url));
const SOURCES = {
  'graph.json': JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }),
  'graph.mjs': AGENT_INTRUDER,
};

const missing = await missingFor('agents in containers');

describe.skipIf(missing !== undefined)('an agent in a container', () => {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  const allowed = createServer((_, response) => response.end('the way out'));
  let folder: string;
  let home: string;
  let image: string;
  let platform: Process;
  let api: PlatformApi;
  let leftBefore: readonly string[];

  beforeAll(async () => {
    leftBefore = await left();
    folder = await mkdtemp(join(tmpdir(), 'slipway,isolation-'));
    home = join(folder, 'home');
    image = join(folder, 'image');
    await mkdir(image);
    await writeFile(join(image, 'server.mjs'), IMAGE_INTRUDER);
    await writeFile(
      join(image, 'Dockerfile'),
      `FROM ${NODE}\nCOPY server.mjs /server.mjs\nCMD ["node", "/server.mjs"]\n`,
    );
    allowed.listen(0, '127.0.0.2');
    await once(allowed, 'listening');
    ({ platform, api } = await startContained(home, { SLIPWAY_EGRESS_ALLOW: '127.0.0.2' }));
  });

  afterAll(async () => {
    await platform.stop();
    allowed.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function deploy(name: string): Promise<string> {
    const install = `ln -s '${NODE_MODULES}' node_modules`;
    const shipped = await api.release(name, SOURCES, { install_command: install });
    await api.ends(shipped, 'DEPLOYED');
    return shipped.deployment;
  }

  it('runs, reaches its own storage and what is allowed, and is refused everything else', async () => {
    const [one, other] = [await deploy('one'), await deploy('other')];
    const aims = {
      pid: platform.child.pid,
      home,
      platform: api.url,
      port: Number(new URL(api.url).port),
      allowed: `http://127.0.0.2:${(allowed.address() as AddressInfo).port}/`,
    };
    const run = (id: string) =>
      api.json<{ tried: Record<string, { done?: unknown; refused?: string }> }>(
        'POST',
        `/agents/${id}/runs/wait`,
        { assistant_id: 'agent', input: { aims } },
      );
    const thread = await api.json<{ thread_id: string }>('POST', `/agents/${other}/threads`, {});
    await api.json('POST', `/agents/${one}/threads`, {});
    expect(thread.thread_id).toBeDefined();
    const { tried } = await run(one);
    const { allowed: reached, 'threads it sees': threads, ...attempts } = tried;
    expect(reached).toEqual({ done: 'the way out' });
    expect(threads).toEqual({ done: [{ deployment_id: one }] });
    const succeeded = Object.entries(attempts).filter(([, { refused }]) => refused === undefined);
    expect(succeeded).toEqual([]);
    expect(Object.keys(attempts).length).toBeGreaterThan(15);
  });

  it('of an image reaches what is allowed, and is refused everything else', async () => {
    await mustPodman(['build', '--tag', IMAGE, image]);
    const id = await api.deployImage('image', 'internal_image', IMAGE);
    const query = new URLSearchParams({
      platform: api.url,
      port: new URL(api.url).port,
      allowed: `http://127.0.0.2:${(allowed.address() as AddressInfo).port}/`,
    });
    const { tried, ...found } = await api.json<{ tried: Record<string, { refused?: string }> }>(
      'GET',
      `/agents/${id}/tries?${query.toString()}`,
    );
    expect(found).toEqual({
      allowed: { done: 'the way out' },
      interfaces: ['lo'],
      capabilities: '0000000000000000',
      noNewPrivileges: '1',
    });
    const filter = ['--filter', `label=slipway.deployment=${id}`, '--format', '{{.Names}}'];
    // The image's, and the one that shares its network with it.
    const names = (await mustPodman(['ps', ...filter])).split('\n');
    expect(names).toHaveLength(2);
    for (const name of names)
      expect(await mustPodman(['inspect', '--format', '{{.HostConfig.PidsLimit}}', name])).toBe('512');
    const succeeded = Object.entries(tried).filter(([, { refused }]) => refused === undefined);
    expect(succeeded).toEqual([]);
    expect(Object.keys(tried).length).toBeGreaterThan(12);
  });

  it('is reached with a key alone', async () => {
    const [{ id } = { id: '' }] = (await api.json<{ resources: { id: string }[] }>('GET', '/v2/deployments'))
      .resources;
    expect((await fetch(`${api.url}/agents/${id}/info`)).status).toBe(401);
    expect((await fetch(`${api.url}/agents/${id}/ok`)).status).toBe(200);
  });

  it('leaves nothing behind when its platform stops', async () => {
    await platform.stop();
    expect(await left()).toEqual(leftBefore);
  });

  /** The containers and folders of platforms on this machine. */
  async function left(): Promise<readonly string[]> {
    const containers = await mustPodman(['ps', '--all', '--format', '{{.Names}}']);
    const names = [...containers.split('\n'), ...(await readdir(tmpdir()))];
    return names.filter((name) => /^slipway-(?:\w{6}$|[0-9a-f]{8}-)/.test(name)).sort();
  }
});
