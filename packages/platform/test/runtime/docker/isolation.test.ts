import type { ChildProcess } from 'node:child_process';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

import { create } from 'tar';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { BUILT_COMMAND } from '../../../../../test/support/builtCommand.ts';
import { CREATES } from '../../../../contract/test/controlPlane/requests.ts';
import { startByCommand } from '../../simplePlatform.ts';
import { PROBES } from './probes.ts';

/*
 * Agents in containers of a real engine. SLIPWAY_TEST_ENGINE names its command, such as `podman`. Skipped without it,
 * or if the engine does not answer, there is no build, or the agents' image is missing.
 */
const ENGINE = process.env['SLIPWAY_TEST_ENGINE'] ?? '';
const IMAGE = `docker.io/library/node:${process.versions.node}-bookworm-slim`;
const canRun =
  ENGINE !== '' && BUILT_COMMAND !== undefined && spawnSync(ENGINE, ['image', 'inspect', IMAGE]).status === 0;

const INTRUDER_IMAGE = 'localhost/slipway-test/intruder:latest';

const NODE_MODULES = fileURLToPath(new URL('../../../../../node_modules', import.meta.url));

/** An agent that tries forbidden actions, and reports how each try ended. */
const INTRUDER = `${PROBES}
import { readdirSync, writeFileSync } from 'node:fs';
import { Annotation, StateGraph } from '@langchain/langgraph';
import pg from 'pg';

const State = Annotation.Root({ aims: Annotation(), tried: Annotation() });
const query = async (text) => {
  const [, url] = /SLIPWAY_AGENT_DATABASE_URL=([^\\0]+)/.exec(readFileSync('/proc/self/environ', 'utf8'));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try { return (await client.query(text)).rows; } finally { await client.end().catch(() => {}); }
};
const fetched = async (url) => {
  const response = await fetch(url);
  if (response.status === 403) throw new Error(await response.text());
  return response.text();
};
async function attempt(work) {
  try { return { done: await work() }; } catch (error) { return { refused: String(error.cause ?? error) }; }
}
const tries = ({ pid, home, platform, port, allowed }) => ({
  'memory of the platform': () => readFileSync('/proc/' + pid + '/environ', 'utf8').length,
  'processes of others': () => {
    const others = readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && name !== '1' && name !== String(process.pid));
    if (others.length === 0) throw new Error('there are none');
    return others;
  },
  'api.key': () => readFileSync(home + '/api.key', 'utf8'),
  'master.key': () => readFileSync(home + '/master.key', 'utf8'),
  'files of the machine': () => readFileSync('/etc/shadow', 'utf8') && readFileSync(home + '/x'),
  'writing its root': () => writeFileSync('/written', ''),
  'writing its own source': () => writeFileSync('written', ''),
  'deployments': () => query('select * from deployments'),
  'stored secrets': () => query('select sealed_secrets from revisions'),
  "taking off its role": () => query('reset role'),
  'platform': () => fetched(platform + '/health'),
  'platform, directly': () => connected({ host: '127.0.0.1', port }),
  'metadata': () => fetched('http://169.254.169.254/latest/meta-data'),
  'metadata, directly': () => connected({ host: '169.254.169.254', port: 80 }),
  'metadata, by IPv6': () => fetched('http://[::ffff:169.254.169.254]/'),
  'private network': () => fetched('http://10.0.0.1/'),
  'engine (docker)': () => connected({ path: '/var/run/docker.sock' }),
  'engine (podman)': () => connected({ path: '/run/podman/podman.sock' }),
  'allowed': () => fetched(allowed),
  'threads it sees': () => query('select distinct deployment_id from slipway_agent.threads'),
});
export const graph = new StateGraph(State)
  .addNode('try', async ({ aims }) => {
    const tried = {};
    for (const [name, work] of Object.entries(tries(aims))) tried[name] = await attempt(async () => work());
    return { tried };
  })
  .addEdge('__start__', 'try')
  .compile();
`;

/** The server of an image that tries forbidden actions: `GET /tries` answers how each try ended. */
const IMAGE_INTRUDER = `${PROBES}
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { lookup } from 'node:dns/promises';
import { networkInterfaces } from 'node:os';

async function attempt(work) {
  try { return { done: await work() }; } catch (error) { return { refused: String(error) }; }
}
const tries = ({ platform, port }) => ({
  'metadata': () => proxied('http://169.254.169.254/latest/meta-data'),
  'metadata, directly': () => connected({ host: '169.254.169.254', port: 80 }),
  'metadata, by IPv6': () => proxied('http://[::ffff:169.254.169.254]/'),
  'private network': () => proxied('http://10.0.0.1/'),
  'private network, directly': () => connected({ host: '10.0.0.1', port: 80 }),
  'platform': () => proxied(platform + '/health'),
  'platform, directly': () => connected({ host: '127.0.0.1', port: Number(port) }),
  'public address, directly': () => connected({ host: '1.1.1.1', port: 443 }),
  'names': () => lookup('example.com'),
  'writing its root': () => writeFileSync('/written', ''),
  'engine (docker)': () => connected({ path: '/var/run/docker.sock' }),
  'engine (podman)': () => connected({ path: '/run/podman/podman.sock' }),
  'sockets of its door': () => readFileSync('/run/slipway/egress.sock'),
});
createServer(async (incoming, response) => {
  const { pathname, searchParams } = new URL(incoming.url, 'http://here');
  if (pathname !== '/tries') return response.end('{"ok":true}');
  const aims = Object.fromEntries(searchParams);
  const tried = {};
  for (const [name, work] of Object.entries(tries(aims))) tried[name] = await attempt(async () => work());
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({
    tried,
    allowed: await attempt(() => proxied(aims.allowed)),
    interfaces: Object.keys(networkInterfaces()),
    capabilities: status('CapEff'),
    noNewPrivileges: status('NoNewPrivs'),
  }));
}).listen(Number(process.env.PORT));
`;

describe.skipIf(!canRun)('an agent in a container', () => {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  const allowed = createServer((_, response) => response.end('the way out'));
  let home: string;
  let child: ChildProcess;
  let url = '';
  let apiKey = '';

  let leftBefore: readonly string[];

  beforeAll(async () => {
    leftBefore = await left();
    home = await mkdtemp(join(tmpdir(), 'slipway,isolation-'));
    allowed.listen(0, '127.0.0.2');
    await once(allowed, 'listening');
    const command = [BUILT_COMMAND ?? '', 'platform', '--json', '--port', '0', '--home', home];
    const started = await startByCommand([process.execPath, ...command, '--isolation', 'container'], {
      SLIPWAY_DOCKER: ENGINE,
      SLIPWAY_EGRESS_ALLOW: '127.0.0.2',
    });
    child = started.child;
    ({ controlPlane: url = '', apiKey = '' } = started.ready);
  });

  afterAll(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    allowed.close();
    await rm(home, { recursive: true, force: true });
  });

  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(url + path, {
      method,
      headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    return JSON.parse(text) as T;
  }

  async function deploy(name: string): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'slipway-isolation-source-'));
    await writeFile(
      join(directory, 'graph.json'),
      JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }),
    );
    await writeFile(join(directory, 'graph.mjs'), INTRUDER);
    const archive = await buffer(create({ gzip: true, cwd: directory }, ['graph.json', 'graph.mjs']));
    await rm(directory, { recursive: true });
    const { id } = await call<{ id: string }>('POST', '/v2/deployments', {
      ...CREATES.internal_source,
      name,
      source_config: { install_command: `ln -s '${NODE_MODULES}' node_modules` },
    });
    const offer = await call<{
      upload_url: string;
      object_path: string;
      upload_headers: Record<string, string>;
    }>('POST', `/deployments/${id}/upload-url`);
    await fetch(offer.upload_url, {
      method: 'PUT',
      body: new Uint8Array(archive),
      headers: offer.upload_headers,
    });
    const { latest_revision_id: revision } = await call<{ latest_revision_id: string }>(
      'PATCH',
      `/v2/deployments/${id}`,
      { source_revision_config: { source_tarball_path: offer.object_path } },
    );
    await deployed(id, revision);
    return id;
  }

  async function deployImage(name: string): Promise<string> {
    const directory = await mkdtemp(join(tmpdir(), 'slipway-isolation-source-'));
    await writeFile(join(directory, 'server.mjs'), IMAGE_INTRUDER);
    await writeFile(
      join(directory, 'Dockerfile'),
      `FROM ${IMAGE}\nCOPY server.mjs /server.mjs\nCMD ["node", "/server.mjs"]\n`,
    );
    const built = spawnSync(ENGINE, ['build', '--tag', INTRUDER_IMAGE, directory], { encoding: 'utf8' });
    expect(built.status, built.stderr).toBe(0);
    await rm(directory, { recursive: true });
    const { id, latest_revision_id: revision } = await call<{ id: string; latest_revision_id: string }>(
      'POST',
      '/v2/deployments',
      {
        name,
        source: 'internal_image',
        source_config: {},
        source_revision_config: { image_uri: INTRUDER_IMAGE },
        secrets: [],
      },
    );
    await deployed(id, revision);
    return id;
  }

  async function deployed(id: string, revision: string): Promise<void> {
    await vi.waitFor(
      async () => {
        const { status, status_message: why } = await call<{ status: string; status_message: string | null }>(
          'GET',
          `/v2/deployments/${id}/revisions/${revision}`,
        );
        expect(`${status} ${why ?? ''}`).toMatch(/^(?:DEPLOYED|\w+_FAILED)/);
        if (status !== 'DEPLOYED') throw new Error(why ?? status);
      },
      { timeout: 240_000, interval: 500 },
    );
  }

  it('runs, reaches its own storage and what is allowed, and is refused everything else', async () => {
    const [one, other] = [await deploy('one'), await deploy('other')];
    const aims = {
      pid: child.pid,
      home,
      platform: url,
      port: Number(new URL(url).port),
      allowed: `http://127.0.0.2:${(allowed.address() as AddressInfo).port}/`,
    };
    const run = (id: string) =>
      call<{ tried: Record<string, { done?: unknown; refused?: string }> }>(
        'POST',
        `/agents/${id}/runs/wait`,
        { assistant_id: 'agent', input: { aims } },
      );
    const thread = await call<{ thread_id: string }>('POST', `/agents/${other}/threads`, {});
    await call('POST', `/agents/${one}/threads`, {});
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
    const id = await deployImage('image');
    const query = new URLSearchParams({
      platform: url,
      port: new URL(url).port,
      allowed: `http://127.0.0.2:${(allowed.address() as AddressInfo).port}/`,
    });
    const { tried, ...found } = await call<{ tried: Record<string, { refused?: string }> }>(
      'GET',
      `/agents/${id}/tries?${query.toString()}`,
    );
    expect(found).toEqual({
      allowed: { done: 'the way out' },
      interfaces: ['lo'],
      capabilities: '0000000000000000',
      noNewPrivileges: '1',
    });
    const inspected = spawnSync(
      ENGINE,
      ['ps', '--filter', `label=slipway.deployment=${id}`, '--format', '{{.Names}}'],
      { encoding: 'utf8' },
    );
    // The image's, and the one that shares its network with it.
    const names = inspected.stdout.trim().split('\n');
    expect(names).toHaveLength(2);
    for (const name of names) {
      const limit = spawnSync(ENGINE, ['inspect', '--format', '{{.HostConfig.PidsLimit}}', name], {
        encoding: 'utf8',
      });
      expect(limit.stdout.trim()).toBe('512');
    }
    const succeeded = Object.entries(tried).filter(([, { refused }]) => refused === undefined);
    expect(succeeded).toEqual([]);
    expect(Object.keys(tried).length).toBeGreaterThan(12);
  });

  it('is reached with a key alone', async () => {
    const [{ id } = { id: '' }] = (await call<{ resources: { id: string }[] }>('GET', '/v2/deployments'))
      .resources;
    expect((await fetch(`${url}/agents/${id}/info`)).status).toBe(401);
    expect((await fetch(`${url}/agents/${id}/ok`)).status).toBe(200);
  });

  it('leaves nothing behind when its platform stops', async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(await left()).toEqual(leftBefore);
  });

  /** The containers and folders of platforms on this machine. */
  async function left(): Promise<readonly string[]> {
    const { stdout } = spawnSync(ENGINE, ['ps', '--all', '--format', '{{.Names}}'], { encoding: 'utf8' });
    const names = [...stdout.split('\n'), ...(await readdir(tmpdir()))];
    return names.filter((name) => /^slipway-(?:\w{6}$|[0-9a-f]{8}-)/.test(name)).sort();
  }
});
