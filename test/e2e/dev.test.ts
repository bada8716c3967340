import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';

import { connectTemporal } from '../../src/temporal/client/connection.ts';
import { temporalSettings } from '../../src/temporal/client/temporalSettings.ts';
import { pollingWorkers } from '../../src/temporal/client/workerPresence.ts';
import { prepareHome } from '../support/preparedHome.ts';
import { callByHand } from './callByHand.ts';
import { freshFetch } from './freshFetch.ts';
import { type Process, slipway } from './processes.ts';
import { GREETS } from './project.ts';
import { writeSmallAgent } from './smallAgent.ts';
import { eventually } from './stack.ts';
import { freePort } from '../support/listen.ts';

const ANY_PORT = ['--port', '0', '--temporal-port', '0', '--temporal-ui-port', '0', '--dashboard-port', '0'];

let folder: string;
let repository: string;
let dev: Process;
let metricsAddress: string;
let ready: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'slipway-dev-'));
  repository = join(folder, 'repository');
  await mkdir(repository);
  await prepareHome(home());
  metricsAddress = `127.0.0.1:${await freePort()}`;
  const env = { SLIPWAY_METRICS_ADDRESS: metricsAddress };
  dev = slipway(['dev', '--json', '--home', home(), ...ANY_PORT], { env });
  ready = (await dev.ready()) as Record<string, string>;
});
afterAll(async () => {
  await dev.kill();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

describe('everything on one machine', () => {
  it('restarts its worker after a kill, and reports it', async () => {
    process.kill(await workerProcess(), 'SIGKILL');
    const name = 'the worker';
    const died = await dev.line(({ event, state }) => event === 'service' && state === 'died');
    expect(died).toMatchObject({ name, restartInMs: 500 });
    const restarted = await dev.line(({ event, state }) => event === 'service' && state === 'restarted');
    expect(restarted).toMatchObject({ name });
  });

  it('restarts its Temporal once it has not answered for a minute', async () => {
    const isTemporal = ({ event, name }: Record<string, unknown>) =>
      event === 'service' && name === 'Temporal';
    process.kill(temporalProcess(), 'SIGSTOP');
    await dev.line((line) => isTemporal(line) && line['state'] === 'died', 120_000);
    await dev.line((line) => isTemporal(line) && line['state'] === 'restarted');
  });

  it('releases', async () => {
    await writeSmallAgent(repository, { says: 'Hello Ada!' });
    await writeFile(join(repository, 'slipway.yaml'), stringify(config()));
    const { code, events } = await ran('release', 'staging');
    expect(code).toBe(0);
    expect(events.at(-1)).toMatchObject({ event: 'ended', outcome: 'released' });
  });

  it('serves the metrics of its worker at the address of the environment', async () => {
    const served = await freshFetch(`http://${metricsAddress}/metrics`);
    expect(await served.text()).toContain('slipway_releases_total');
  });

  it('links to its own dashboard: to the release, and to the target', async () => {
    const shown = await ran('show', 'latest', 'staging');
    const { events } = await ran('status', 'staging');
    const links = [...shown.events, ...events].map(({ dashboardUrl }) => String(dashboardUrl));
    expect(links).toEqual([
      expect.stringMatching(new RegExp(`^${ready['dashboard'] ?? ''}/releases/target%3A.+/release-1$`)),
      expect.stringMatching(new RegExp(`^${ready['dashboard'] ?? ''}/targets/target%3A.+greeter$`)),
    ]);
    for (const link of links) expect((await freshFetch(link)).status, link).toBe(200);
  });

  it('fails an audit if one artifact has two revisions', async () => {
    expect(await ran('audit')).toMatchObject({ code: 0 });
    const { revision, deployment } = await served();
    const { source_tarball_path, graph_config_path } = revision.source_revision_config;
    await call('PATCH', `/v2/deployments/${deployment.id}`, {
      source_revision_config: { source_tarball_path, graph_config_path },
    });
    const { code, events } = await ran('audit', 'staging');
    expect(code).toBe(3);
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'violation', target: 'staging', rule: expect.any(Number) }),
    );
  });

  it('stops everything in order on SIGTERM', async () => {
    expect(await dev.stop()).toBe(0);
    expect(dev.lines.at(-1)).toMatchObject({ event: 'stopped' });
    await expect(freshFetch(ready['controlPlane'] ?? '')).rejects.toThrow();
  });
});

/** Temporal reads "#" in a path as the end of it. */
const home = (): string => join(folder, 'home #1');

function config(): object {
  return {
    targets: {
      staging: {
        controlPlane: ready['controlPlane'],
        apiKey: { from: 'env:SLIPWAY_API_KEY' },
        deployment: 'greeter',
      },
    },
    checks: [GREETS],
  };
}

async function ran(...args: string[]): Promise<{ code: number | null; events: Process['lines'] }> {
  const env = { SLIPWAY_HOME: home(), SLIPWAY_API_KEY: ready['apiKey'] ?? '' };
  const process = slipway([...args, '--json'], { env, cwd: repository });
  return { code: await process.exited, events: process.lines };
}

async function workerProcess(): Promise<number> {
  const temporal = await connectTemporal(await temporalSettings(home(), {}));
  try {
    return await eventually(async () => {
      const [identity = 'no worker'] = await pollingWorkers(temporal);
      const pid = Number(identity.split(':')[1]);
      if (!Number.isInteger(pid)) throw new Error(`the task queue is polled by ${identity}`);
      return pid;
    });
  } finally {
    await temporal.close();
  }
}

/** Temporal's process: the newest one with its port, because its guard, which is older, has the same arguments. */
function temporalProcess(): number {
  const [, port = ''] = (ready['temporal'] ?? '').split(':');
  return Number(execFileSync('pgrep', ['--newest', '--full', `start-dev .*--port ${port} `]));
}

interface Deployment {
  readonly id: string;
  readonly active_revision_id: string;
}

interface Revision {
  readonly source_revision_config: {
    readonly source_tarball_path: string;
    readonly graph_config_path: string;
  };
}

async function served(): Promise<{ deployment: Deployment; revision: Revision }> {
  const { resources } = (await call('GET', '/v2/deployments')) as { resources: Deployment[] };
  const [deployment] = resources;
  if (deployment === undefined) throw new Error('there is no deployment');
  const path = `/v2/deployments/${deployment.id}/revisions/${deployment.active_revision_id}`;
  return { deployment, revision: (await call('GET', path)) as Revision };
}

function call(method: string, path: string, body?: unknown): Promise<unknown> {
  const controlPlane = { origin: ready['controlPlane'] ?? '', apiKey: ready['apiKey'] ?? '' };
  return callByHand(controlPlane, method, path, body);
}
