import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import type { Process } from '../processes.ts';
import { eventually } from '../stack.ts';
import { missingFor, mustPodman, NODE, podman } from './engine.ts';
import { type PlatformApi, startContained } from './platformApi.ts';

const IMAGE = 'localhost/slipway-test/intruder';
const RESOURCES = { cpu: 0.25, cpu_limit: 0.5, memory_mb: 128, memory_limit_mb: 256 };

/** Serves as much of the Run API as a platform asks for, and, at `/probe`, tries what a container may not. */
const SERVER = `
const { execFileSync, spawn } = require('node:child_process');
const { existsSync, readFileSync, writeFileSync } = require('node:fs');
const { createServer } = require('node:http');
const attempt = (work) => { try { work(); return 'done'; } catch (error) { return error.code ?? String(error.status ?? error.signal ?? error.message); } };
const status = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1];
const limit = (...files) => readFileSync(files.find(existsSync), 'utf8').trim();
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
  }));
}).listen(process.env.PORT);
`;

interface Probe {
  readonly fork: { readonly started: number; readonly failed: string };
  readonly memory: string;
  readonly cpu: string;
  readonly [attempt: string]: unknown;
}

const missing = await missingFor('deployments of images');

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
    ({ platform, api } = await startContained(join(home, 'home')));
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

  it('leaves no container after its deletion', async () => {
    const id = await deploy('deleted');
    expect((await api.call('DELETE', `/v2/deployments/${id}`)).status).toBe(204);
    await eventually(async () => expect(await containersOf(id)).toEqual([]));
  });

  function deploy(name: string): Promise<string> {
    return api.deployImage(name, 'external_image', IMAGE, { resource_spec: RESOURCES });
  }

  /** What the agent could do, asked for through the gateway. */
  function probed(id: string): Promise<Probe> {
    return api.json<Probe>('GET', `/agents/${id}/probe`);
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
