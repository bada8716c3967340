import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { BUILT_COMMAND } from '../../support/builtCommand.ts';
import { type Process, slipway } from '../processes.ts';
import { eventually } from '../stack.ts';
import { mustPodman, podman } from './engine.ts';
import { PlatformApi } from './platformApi.ts';

const NODE = `docker.io/library/node:${process.versions.node}-bookworm-slim`;
const IMAGE = 'localhost/slipway-test/intruder';
const RESOURCES = { cpu: 0.25, cpu_limit: 0.5, memory_mb: 128, memory_limit_mb: 256 };

/** Serves as much of the Run API as a platform asks for, and, at `/probe`, tries what a container may not. */
const SERVER = `
const { execFileSync, spawn } = require('node:child_process');
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const { connect } = require('node:net');
const attempt = (work) => { try { work(); return 'done'; } catch (error) { return error.code ?? String(error.status ?? error.signal ?? error.message); } };
const status = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1];
const limit = (...files) => readFileSync(files.find(existsSync), 'utf8').trim();
const reach = (target) => new Promise((resolve) => {
  const [host, port] = target.split(':');
  const socket = connect({ host, port: Number(port), timeout: 2000 }, () => end('done'));
  const end = (result) => { socket.destroy(); resolve(result); };
  socket.once('error', (error) => end(error.code)).once('timeout', () => end('timeout'));
});
async function fork() {
  const children = [];
  let failed;
  for (let i = 0; i < 600 && failed === undefined; i++) {
    const child = spawn('/bin/sleep', ['60'], { stdio: 'ignore' });
    await new Promise((resolve) => child.once('spawn', () => { children.push(child); resolve(); }).once('error', (error) => { failed = error.code; resolve(); }));
  }
  for (const child of children) child.kill('SIGKILL');
  return { started: children.length, failed: failed ?? 'none' };
}
const holding = (mb) => attempt(() => execFileSync(process.execPath, ['--eval', 'const held = []; for (let i = 0; i < ' + mb + '; i++) held.push(Buffer.alloc(1048576, 1));'], { stdio: 'ignore' }));
createServer(async (request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname !== '/probe') return response.end('{}');
  const targets = url.searchParams.getAll('reach');
  response.end(JSON.stringify({
    root: attempt(() => writeFileSync('/written', '')),
    tmp: attempt(() => writeFileSync('/tmp/written', '')),
    capabilities: status('CapEff'),
    bounding: status('CapBnd'),
    noNewPrivileges: status('NoNewPrivs'),
    chown: attempt(() => execFileSync('/bin/chown', ['1:1', '/tmp/written'], { stdio: 'ignore' })),
    mount: attempt(() => execFileSync('/bin/mount', ['-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' })),
    memory: limit('/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'),
    cpu: limit('/sys/fs/cgroup/cpu.max', '/sys/fs/cgroup/cpu/cpu.cfs_quota_us').split(' ')[0],
    little: holding(40),
    much: holding(400),
    fork: await fork(),
    sockets: ['/var/run/docker.sock', '/run/podman/podman.sock', '/run/docker.sock'].filter(existsSync),
    secrets: Object.keys(process.env).filter((name) => /DATABASE|API_KEY|MASTER/.test(name)),
    reached: Object.fromEntries(await Promise.all(targets.map(async (target) => [target, await reach(target)]))),
  }));
}).listen(process.env.PORT);
`;

interface Probe {
  readonly fork: { readonly started: number; readonly failed: string };
  readonly memory: string;
  readonly cpu: string;
  readonly reached: Readonly<Record<string, string>>;
  readonly [attempt: string]: unknown;
}

const missing =
  BUILT_COMMAND === undefined
    ? 'nothing is built: npm run build'
    : (await podman(['image', 'exists', NODE])).code === 0
      ? undefined
      : `Podman has no image ${NODE}: run test/e2e/containers/prepare.sh as root, on Debian`;
if (missing !== undefined) process.stdout.write(`skipped: deployments of images: ${missing}\n`);

describe.skipIf(missing !== undefined)('a deployment of an image, with --isolation container', () => {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  let home: string;
  let platform: Process;
  let api: PlatformApi;

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'slipway-images-'));
    await writeFile(join(home, 'server.cjs'), SERVER);
    await writeFile(
      join(home, 'Dockerfile'),
      `FROM ${NODE}\nCOPY server.cjs /server.cjs\nCMD ["node", "/server.cjs"]\n`,
    );
    await mustPodman(['build', '--tag', IMAGE, home]);
    platform = slipway(
      ['platform', '--json', '--port', '0', '--home', join(home, 'home'), '--isolation', 'container'],
      { env: { SLIPWAY_DOCKER: 'podman' } },
    );
    api = new PlatformApi(await platform.ready());
  });

  afterAll(async () => {
    await platform.stop();
    await podman(['image', 'rm', '--force', IMAGE]);
    await rm(home, { recursive: true, force: true });
  });

  it('runs on a read-only root, without privileges, within its limits, and sees no engine', async () => {
    const id = await deploy('confined');
    const probe = await probed(id);
    expect(probe).toMatchObject({
      root: 'EROFS',
      tmp: 'done',
      capabilities: '0000000000000000',
      bounding: '0000000000000000',
      noNewPrivileges: '1',
      cpu: '50000',
      memory: String(RESOURCES.memory_limit_mb * 1_024 * 1_024),
      little: 'done',
      sockets: [],
      secrets: [],
    });
    // Without capabilities, root in the container is no more than anybody.
    for (const attempt of ['chown', 'mount', 'much']) expect(probe[attempt], attempt).not.toBe('done');
    expect(probe.fork.failed).toBe('EAGAIN');
    expect(probe.fork.started).toBeLessThan(512);
    // What went over its limits was ended; the agent was not.
    expect((await probed(id)).root).toBe('EROFS');
    const inspected = await inspect(
      id,
      '{{.HostConfig.PidsLimit}} {{.HostConfig.ReadonlyRootfs}} {{.HostConfig.Privileged}}',
    );
    expect(inspected).toBe('512 true false');
  });

  it('has only its own loopback: it connects to no metadata, private or public address', async () => {
    const aims = ['169.254.169.254:80', '10.0.0.1:80', '10.88.0.1:22', '1.1.1.1:443'];
    const { reached } = await probed(await deploy('one'), ['127.0.0.1:8000', ...aims]);
    const refused = Object.fromEntries(aims.map((aim) => [aim, 'ENETUNREACH']));
    expect(reached).toEqual({ '127.0.0.1:8000': 'done', ...refused });
  });

  it('does not reach listeners on the machine’s loopback, such as the platform', async () => {
    const { host } = new URL(api.url);
    const { reached } = await probed(await deploy('loopback'), [host]);
    expect(reached).toEqual({ [host]: 'ECONNREFUSED' });
  });

  it('leaves no container after its deletion', async () => {
    const id = await deploy('deleted');
    expect((await api.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await eventually(async () => expect(await containersOf(id)).toEqual([]));
  });

  async function deploy(name: string): Promise<string> {
    const { id, latest_revision_id: revision } = await api.json<{ id: string; latest_revision_id: string }>(
      'POST',
      '/v2/deployments',
      {
        name,
        source: 'external_image',
        source_config: { resource_spec: RESOURCES },
        source_revision_config: { image_uri: IMAGE },
        secrets: [],
      },
    );
    await eventually(async () => {
      const { status, status_message: why } = await api.json<{
        status: string;
        status_message: string | null;
      }>('GET', `/v2/deployments/${id}/revisions/${revision}`);
      expect(`${status} ${why ?? ''}`).toMatch(/^DEPLOYED/);
    }, 120_000);
    return id;
  }

  /** What the agent could do, asked for through the gateway. */
  async function probed(id: string, targets: readonly string[] = []): Promise<Probe> {
    const query = targets.map((target) => `reach=${encodeURIComponent(target)}`).join('&');
    return await api.json<Probe>('GET', `/agents/${id}/probe?${query}`);
  }

  /** The names of its containers: the image's, and the one whose network that uses. */
  async function containersOf(id: string): Promise<readonly string[]> {
    const filter = ['--filter', `label=slipway.deployment=${id}`];
    const names = await mustPodman(['ps', '--all', ...filter, '--format', '{{.Names}}']);
    return names.split('\n').filter((name) => name !== '');
  }

  async function inspect(id: string, format: string): Promise<string> {
    const [name = ''] = (await containersOf(id)).filter((one) => !one.endsWith('-door'));
    return await mustPodman(['inspect', '--format', format, name]);
  }
});
