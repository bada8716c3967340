import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';

import { archiveOf } from '../../../packages/platform/test/builder/archives.ts';
import { Process } from '../processes.ts';
import { eventually } from '../stack.ts';
import { type Aims, INTRUDER, type Report } from './buildIntruder.ts';
import { missingFor, mustPodman, NODE } from './engine.ts';
import { type PlatformApi, type Shipped, startContained } from './platformApi.ts';

const missing = await missingFor('builds in containers');

const MANIFEST = {
  name: 'dep',
  version: '1.0.0',
  type: 'module',
  scripts: { postinstall: 'node intrude.js' },
};
const DEPENDENCY = archiveOf([
  { path: 'package/package.json', content: JSON.stringify(MANIFEST) },
  { path: 'package/intrude.js', content: INTRUDER },
]);
const AGENT = {
  'graph.json': JSON.stringify({ graphs: { agent: './graph.mjs:graph' } }),
  'graph.mjs': 'export const graph = () => { throw new Error("never run"); };',
  'wait.mjs': `import { get } from 'node:http';
const { hostname, port } = new URL(process.env.HTTP_PROXY);
get({ hostname, port, path: process.env.npm_config_registry + 'gate' }, (answer) => answer.resume());
`,
};

describe.skipIf(missing !== undefined)('a build, with --isolation container', () => {
  vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });
  let registry = '';
  /** Builds wait at `/gate` of the registry until this resolves. */
  let gate = Promise.resolve();
  const server = createServer((request, response) => {
    if (request.url === '/gate') void gate.then(() => response.end());
    else if (request.url === '/dep/-/dep-1.0.0.tgz') response.end(DEPENDENCY);
    else response.writeHead(404).end();
  });
  let home: string;
  let platform: Process;
  let api: PlatformApi;

  async function start(engine = 'podman', folder = 'home'): Promise<void> {
    ({ platform, api } = await startContained(join(home, folder), {
      SLIPWAY_DOCKER: engine,
      SLIPWAY_EGRESS_ALLOW: '127.0.0.2',
      SLIPWAY_BUILD_MEMORY_MB: '256',
      PLANTED: 'a secret of the platform',
      npm_config_registry: registry,
    }));
  }

  beforeAll(async () => {
    server.listen(0, '127.0.0.2');
    await once(server, 'listening');
    registry = `http://127.0.0.2:${(server.address() as AddressInfo).port}/`;
    home = await mkdtemp(join(tmpdir(), 'slipway-builds-'));
    await start();
  });

  afterAll(async () => {
    await platform.stop();
    server.closeAllConnections();
    server.close();
    await rm(home, { recursive: true, force: true });
  });

  it('installs from the registry and runs, and its install scripts are refused everything else', async () => {
    const other = await release('other', AGENT);
    await api.ends(other, 'DEPLOYED');
    const aims: Aims = {
      pid: platform.child.pid!,
      home: join(home, 'home'),
      platform: api.url,
      foreignFile: join(folderOf(other), 'graph.mjs'),
    };
    // The platform itself can read what the script aims at.
    expect(await readFile(aims.foreignFile, 'utf8')).toBe(AGENT['graph.mjs']);
    const sources = withDependency({ ...AGENT, 'aims.json': JSON.stringify(aims) });
    // A build can change what was installed, also what came from the cache.
    const build = 'cat report.json && echo changed >> node_modules/dep/intrude.js';
    const built = await release('intruder', sources, build);
    await api.ends(built, 'DEPLOYED');
    expect(await linesOf(built)).toContain(`Commands run in containers of ${NODE} (SLIPWAY_AGENT_IMAGE).`);
    const { tried, env, ...found } = JSON.parse(
      await readFile(join(folderOf(built), 'report.json'), 'utf8'),
    ) as Report;
    expect(Object.entries(tried).filter(([, { refused }]) => refused === undefined)).toEqual([]);
    expect(Object.keys(tried).length).toBeGreaterThan(20);
    expect(JSON.stringify(env)).not.toMatch(/a secret of the platform|SLIPWAY_|DATABASE/);
    expect(found).toEqual({
      interfaces: ['lo'],
      capabilities: '0000000000000000',
      noNewPrivileges: '1',
      uid: process.getuid?.() === 0 ? 65_532 : 0,
    });

    const again = await release('again', { ...sources, 'report.json': 'from the cache' }, build);
    await api.ends(again, 'DEPLOYED');
    expect(await linesOf(again)).toEqual(
      expect.arrayContaining([expect.stringContaining('Installed from the cache'), 'from the cache']),
    );
    expect((await api.call('GET', `/agents/${again.deployment}/ok`)).status).toBe(200);
  });

  it('fails if it takes more memory than it may, and says which setting limits it', async () => {
    const hungry = `node -e 'const held = []; for (;;) held.push(Buffer.alloc(1048576, 1))'`;
    const build = await release('hungry', AGENT, hungry);
    expect(await api.ends(build, 'BUILD_FAILED')).toContain('SLIPWAY_BUILD_MEMORY_MB');
    expect(await containersOf(build)).toEqual([]);
  });

  it('that is interrupted ends, and leaves no container', async () => {
    const open = closeGate();
    const build = await release('interrupted', AGENT, 'echo begun && node wait.mjs');
    await logs(build, 'begun');
    expect(await containersOf(build)).toHaveLength(1);
    await api.json('POST', `/v2/deployments/${build.deployment}/revisions/${build.revision}/interrupt`);
    await api.ends(build, 'INTERRUPTED');
    await eventually(async () => expect(await containersOf(build)).toEqual([]));
    open();
  });

  it('of a killed platform is removed by the next one, which builds again from the source', async () => {
    const open = closeGate();
    const build = await release(
      'killed',
      AGENT,
      'echo once >> built && echo begun && until node wait.mjs; do sleep 1; done',
    );
    await logs(build, 'begun');
    await platform.kill();
    const [left, ...more] = await containersOf(build);
    expect(more).toEqual([]);
    const socketsLeft = await socketsOf(left!);
    expect(existsSync(socketsLeft)).toBe(true);
    expect(await mustPodman(['inspect', '--format', '{{.State.Status}}', left!])).toBe('running');
    open();
    await start();
    await api.ends(build, 'DEPLOYED');
    expect(await readFile(join(folderOf(build), 'built'), 'utf8')).toBe('once\n');
    // The agent's.
    const now = await containersOf(build);
    expect(now).toHaveLength(1);
    expect(now).not.toContain(left);
    expect(existsSync(socketsLeft)).toBe(false);
    expect(existsSync(await socketsOf(now[0]!))).toBe(true);
  });

  it('fails with the reason if the engine goes away, and the platform goes on', async () => {
    await platform.stop();
    const socket = join(home, 'engine.sock');
    const remote = ['--remote', '--url', `unix://${socket}`];
    const command = join(home, 'engine.sh');
    await writeFile(command, `#!/bin/sh\nexec podman ${remote.join(' ')} "$@"\n`, { mode: 0o755 });
    const engine = new Process('podman', ['system', 'service', '--time', '0', `unix://${socket}`], {});
    await eventually(() => mustPodman([...remote, 'version']));
    await start(command, 'another home');
    const open = closeGate();
    const build = await release('without engine', AGENT, 'echo begun && node wait.mjs');
    await logs(build, 'begun');
    await engine.kill();
    expect(await api.ends(build, 'BUILD_FAILED')).toMatch(
      /^The container engine stopped answering while `echo begun .*` ran \(.*\)\. Start it, and redeploy the revision\.$/,
    );
    expect((await fetch(`${api.url}/health`)).status).toBe(200);
    open();
    await mustPodman(['rm', '--force', ...(await containersOf(build))]);
  });

  /** Makes builds wait at the gate until the returned function is called. */
  function closeGate(): () => void {
    let open: () => void = () => undefined;
    gate = new Promise((resolve) => (open = resolve));
    return open;
  }

  function withDependency(sources: Readonly<Record<string, string>>): Record<string, string> {
    const manifest = { name: 'agent', version: '1.0.0', dependencies: { dep: '1.0.0' } };
    const integrity = `sha512-${createHash('sha512').update(DEPENDENCY).digest('base64')}`;
    const dep = { version: '1.0.0', resolved: `${registry}dep/-/dep-1.0.0.tgz`, integrity };
    return {
      ...sources,
      'package.json': JSON.stringify(manifest),
      'package-lock.json': JSON.stringify({
        ...{ name: 'agent', version: '1.0.0', lockfileVersion: 3, requires: true },
        packages: { '': manifest, 'node_modules/dep': { ...dep, hasInstallScript: true } },
      }),
    };
  }

  function release(
    name: string,
    sources: Readonly<Record<string, string>>,
    buildCommand?: string,
  ): Promise<Shipped> {
    return api.release(name, sources, { build_command: buildCommand });
  }

  function pathOf({ deployment, revision }: Shipped): string {
    return `/v2/deployments/${deployment}/revisions/${revision}`;
  }

  function folderOf({ deployment, revision }: Shipped): string {
    return join(home, 'home/builds', deployment, revision);
  }

  async function linesOf(build: Shipped): Promise<string[]> {
    const { logs: lines } = await api.json<{ logs: { message: string }[] }>('GET', `${pathOf(build)}/logs`);
    return lines.map(({ message }) => message);
  }

  async function logs(build: Shipped, line: string): Promise<void> {
    await eventually(async () => expect(await linesOf(build)).toContain(line), 120_000);
  }

  /** The folder of a container's sockets. */
  function socketsOf(container: string): Promise<string> {
    const format = '{{range .Mounts}}{{if eq .Destination "/run/slipway"}}{{.Source}}{{end}}{{end}}';
    return mustPodman(['inspect', '--format', format, container]);
  }

  async function containersOf({ revision }: Shipped): Promise<string[]> {
    const filter = ['--filter', `label=slipway.revision=${revision}`];
    const names = await mustPodman(['ps', '--all', ...filter, '--format', '{{.Names}}']);
    return names.split('\n').filter((name) => name !== '');
  }
});
