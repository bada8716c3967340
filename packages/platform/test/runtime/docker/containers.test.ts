import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { type Containers, createContainers, type ImageRun } from '../../../src/runtime/docker/containers.ts';
import { openEgressSocket, removeLeftSockets } from '../../../src/runtime/docker/sockets.ts';
import type { RunningAgent } from '../../../src/runtime/agentStart.ts';
import { FROM_SOURCE } from '../../../../../test/support/fromSource.ts';
import { isRunning } from '../liveness.ts';
import { EngineStandIn } from './engineStandIn.ts';

const IMAGE = 'registry.example/agent:1';
const DEPLOYMENT = '11111111-1111-4111-8111-111111111111';
const REVISION = '22222222-2222-4222-8222-222222222222';

let engine: EngineStandIn;
let containers: Containers;
let log: string[];

beforeEach(async () => {
  engine = await EngineStandIn.open();
  await engine.registry({ [IMAGE]: 'agent' });
  containers = createContainers({ command: engine.command, platform: 'this-platform' });
  log = [];
});

afterEach(async () => {
  await engine.close();
});

function start(more: Partial<ImageRun> = {}): Promise<RunningAgent> {
  return containers.start({
    deploymentId: DEPLOYMENT,
    revisionId: REVISION,
    image: IMAGE,
    isPulled: true,
    resources: {},
    env: {},
    log: (line) => void log.push(line),
    signal: new AbortController().signal,
    readyTimeoutMs: 20_000,
    ...more,
  });
}

async function ask(agent: RunningAgent, path: string): Promise<string> {
  return (await fetch(agent.url + path)).text();
}

describe('an image', () => {
  it('is pulled, run under its labels, answers on loopback, and leaves nothing when it is drained', async () => {
    const agent = await start();
    expect(agent.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await ask(agent, '/')).toBe('agent');
    expect(log.slice(0, 3)).toEqual([
      `Pulling the image ${IMAGE}.`,
      `Pulling from ${IMAGE}`,
      `Status: Downloaded newer image for ${IMAGE}`,
    ]);
    const [container] = await engine.containers();
    expect(container).toMatchObject({ deploymentId: DEPLOYMENT, revisionId: REVISION });
    expect(container?.told).toEqual(
      expect.arrayContaining([
        'label=slipway.platform=this-platform',
        'publish=127.0.0.1::8000',
        'pull=never',
      ]),
    );

    await agent.drain(5_000);
    expect(await agent.exited).toEqual({ code: 0, signal: null });
    expect(log).toContain('finishing');
    expect(await engine.containers()).toEqual([]);
    expect(isRunning(container!.pid)).toBe(false);
  });

  it('gets its secrets as they are, with no value among the arguments, and none in its log', async () => {
    const secrets = {
      TOKEN: 'a secret token',
      PATH_LIKE: '$HOME/"quoted" \\ back',
      KEY: 'line one of a key\nline two of a key\n',
      LONG: 'long '.repeat(13_000),
      DOCKER_HOST: 'unix:///nowhere',
      UNICODE: 'schlüssel 🔑',
    };
    const agent = await start({ env: secrets });
    for (const [name, value] of Object.entries(secrets))
      expect(JSON.parse(await ask(agent, `/env?name=${encodeURIComponent(name)}`)), name).toBe(value);
    const calls = await engine.calls();
    for (const value of Object.values(secrets)) expect(calls).not.toContain(value);
    await vi.waitFor(() => expect(log).toContain('serving as agent, told PORT 8000, token ***'), 10_000);
    await agent.drain(1_000);
  });

  it('stays the one that the revision ran first, whatever its tag means by then, and without its registry', async () => {
    await (await start()).drain(1_000);
    await engine.registry({ [IMAGE]: 'another' });
    const again = await start();
    expect(await ask(again, '/')).toBe('agent');
    await again.drain(1_000);
    await engine.registry({});
    const offline = await start();
    expect(await ask(offline, '/')).toBe('agent');
    await offline.drain(1_000);

    await containers.release(DEPLOYMENT);
    expect(await engine.images()).toEqual([IMAGE]);
  });

  it('of the engine itself is not pulled; one that cannot be pulled is used where the engine has it', async () => {
    await engine.registry({});
    await engine.hold('built-here:1', 'own');
    const own = await start({ image: 'built-here:1', isPulled: false });
    expect(await ask(own, '/')).toBe('own');
    expect(log.join('\n')).not.toContain('Pulling');
    await own.drain(1_000);

    const stale = await start({ image: 'built-here:1', revisionId: DEPLOYMENT });
    expect(log).toContain('It could not be pulled. The engine has an image of that name, which is used.');
    await stale.drain(1_000);
  });

  it('that ends by itself is told so, and its container is removed', async () => {
    const agent = await start();
    await ask(agent, '/crash').catch(() => undefined);
    expect(await agent.exited).toEqual({ code: 7, signal: null });
    await vi.waitFor(async () => expect(await engine.containers()).toEqual([]), 10_000);
  });
});

describe('an image that does not start', () => {
  it('says that there is no docker command, and what to do', async () => {
    containers = createContainers({ command: '/nowhere/docker', platform: 'p' });
    await expect(start()).rejects.toThrow(/^This machine has no docker command, .* redeploy the revision\.$/);
    expect(await containers.removeLeft()).toBeUndefined();
  });

  it('says that the engine does not answer, in the command’s own words', async () => {
    await engine.answers(false);
    await expect(start()).rejects.toThrow(
      /^The container engine of this machine does not answer \(Cannot connect to the Docker daemon .*\)\. Start it,/,
    );
  });

  it('says why it could not be pulled', async () => {
    await expect(start({ image: 'registry.example/none:1' })).rejects.toThrow(
      'The image registry.example/none:1 is not available: Error response from daemon: manifest for registry.example/none:1 not found',
    );
  });

  const another = 'localhost/slipway/5d1fdbbd-2e32-4a61-8f0c-1d2f2a6f0f6c:1';
  it.each(['--help', 'dir:/etc', 'oci-archive:/var/backups/image.tar', 'docker-daemon:other:1', another])(
    'does not give the engine %s, which names no image of a registry',
    async (image) => {
      await expect(start({ image })).rejects.toThrow(`image_uri is ${image}, which names no image`);
      expect(await engine.calls()).not.toContain(image);
    },
  );

  it.each([
    ['ends at once', 'broken', {}, /cannot find its model/],
    [
      'never becomes ready',
      'never-ready',
      { readyTimeoutMs: 1_500 },
      /not ready within 1\.5 s: GET \/ok answered 503/,
    ],
  ])(
    'because it %s, says so with its last lines, and leaves no container',
    async (_, behavior, more, message) => {
      await engine.registry({ [IMAGE]: behavior });
      const error = await start({ env: { TOKEN: 'a secret token' }, ...more }).catch(
        (thrown: unknown) => thrown,
      );
      expect(String(error)).toMatch(message);
      expect(String(error)).toContain(`serving as ${behavior}, told PORT 8000, token ***`);
      expect(await engine.containers()).toEqual([]);
    },
  );

  it('because it was canceled, leaves no container', async () => {
    await engine.registry({ [IMAGE]: 'never-ready' });
    const controller = new AbortController();
    const starting = start({ signal: controller.signal });
    const failure = expect(starting).rejects.toThrow('The start of the agent was canceled.');
    await vi.waitFor(async () => expect(await engine.containers()).toHaveLength(1), 10_000);
    controller.abort();
    await failure;
    expect(await engine.containers()).toEqual([]);
  });
});

describe('containers that a killed platform left', () => {
  it('are removed by the next process of the same platform, and by no other', async () => {
    const left = await start();
    const other = createContainers({ command: engine.command, platform: 'another' });
    expect(await other.removeLeft()).toBe(0);
    expect(await containers.removeLeft()).toBe(0);
    const next = createContainers({ command: engine.command, platform: 'this-platform' });
    expect(await next.removeLeft()).toBe(1);
    await left.exited;
    expect(await engine.containers()).toEqual([]);
  });
});

describe('the sockets of containers', () => {
  it('that a killed platform left are removed by the next process of the same platform, and by no other', async () => {
    const program = fileURLToPath(new URL('fixtures/openSockets.ts', import.meta.url));
    const killed = spawn(process.execPath, [...FROM_SOURCE, program, 'this-platform']);
    const [folder] = (await once(createInterface({ input: killed.stdout }), 'line')) as [string];
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    await createContainers({ command: engine.command, platform: 'another' }).removeLeft();
    expect(existsSync(folder)).toBe(true);
    await createContainers({ command: engine.command, platform: 'this-platform' }).removeLeft();
    expect(existsSync(folder)).toBe(false);
  });

  it('of the same process stay until it closes them', async () => {
    const owner = { platform: 'this-platform', process: 'this' };
    const { folder, close } = await openEgressSocket(createServer(), owner);
    await removeLeftSockets(owner);
    expect(existsSync(folder)).toBe(true);
    await close();
    expect(existsSync(folder)).toBe(false);
  });
});
