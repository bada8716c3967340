import { randomUUID } from 'node:crypto';
import type { Server } from 'node:net';

import type { AgentStart, RunningAgent } from '../agentStart.ts';
import { agentCommand, doorCommand, placesOfPrograms, placesOfThisPackage } from '../agentCommand.ts';
import type { Shell } from '../command.ts';
import { containedEnvironment } from '../containedAgent.ts';
import { proxyVariables, SOCKETS } from '../containedNetwork.ts';
import { createSecretMask } from '../secretMask.ts';
import { Container } from './container.ts';
import { type ContainedBuild, openContainedShell } from './containedShell.ts';
import {
  type ContainerOwner,
  type ContainerProgram,
  type ContainerRequest,
  type ContainerResources,
  inPlace,
  listArguments,
  nameOf,
  portOf,
  runCall,
} from './containerRequest.ts';
import {
  containerFailed,
  createDocker,
  type Docker,
  lastWords,
  readEngine,
  removeContainers,
  requireEngine,
} from './dockerCommand.ts';
import { haveImage, holdImage, releaseImages } from './images.ts';
import { openSockets, removeLeftSockets } from './sockets.ts';

interface RevisionIds {
  readonly deploymentId: string;
  readonly revisionId: string;
}

interface ContainerRun extends AgentStart, RevisionIds {
  readonly resources: ContainerResources;
}

export interface ImageRun extends ContainerRun {
  /** `image_uri`. */
  readonly image: string;
  /** See `RevisionImage`. */
  readonly isPulled: boolean;
}

/** A revision's built agent to run in a container. Its variables include the URL of its database. */
export interface BuiltRun extends ContainerRun {
  /** The built workspace, which contains the agent's folder. */
  readonly workspace: string;
  readonly agentDir: string;
  readonly graphConfigPath: string;
}

/** How containers are isolated (`--isolation container`). */
export interface Contained {
  /** The image of the platform's own programs in containers, with a `node`. */
  readonly image: string;
  /** Makes the outbound proxy of one container. */
  readonly egress: () => Server;
}

export type Containers = ReturnType<typeof createContainers>;

/**
 * Makes {@link Containers}.
 * @param options - `command`: the docker command, by name or path. `platform`: the platform's name on the engine, the
 * same after each restart. `contained`: isolates the containers of images. Default: the engine's own settings.
 */
export function createContainers(options: { command: string; platform: string; contained?: Contained }) {
  const docker = createDocker(options.command);
  const { contained } = options;
  const owner = { platform: options.platform, process: randomUUID() };
  const ownerOf = ({ deploymentId, revisionId }: RevisionIds) => ({ ...owner, deploymentId, revisionId });
  const notRemoved = new Set<string>();
  return {
    /** @throws AgentStartError as `startContainer` does. */
    start: (run: ImageRun): Promise<RunningAgent> =>
      startContainer({ ...run, docker, contained, owner: ownerOf(run) }),
    /**
     * Runs a built agent in a container of the platform's image, without a network.
     * @throws AgentStartError as `start` does.
     */
    startBuilt: (run: BuiltRun, { image, egress }: Contained): Promise<RunningAgent> =>
      startBuilt({ ...run, docker, image, egress: egress(), owner: ownerOf(run) }),
    /** Prepares containers for the commands of one build. @throws AgentStartError if there is no engine or image. */
    openShell: (build: ContainedBuild & RevisionIds, { image, egress }: Contained): Promise<Shell> => {
      const onNotRemoved = (name: string): void => void notRemoved.add(name);
      return openContainedShell({ ...build, docker, image, egress, owner: ownerOf(build), onNotRemoved });
    },
    /**
     * Removes containers and sockets that earlier processes of the platform left, because a killed process removes none,
     * and those of builds that this process could not remove, because the engine did not answer. Returns how many
     * there were; undefined if the engine does not answer.
     */
    removeLeft: async (): Promise<number | undefined> => {
      const all = await docker({ args: listArguments('platform', owner.platform) });
      const own = await docker({ args: listArguments('process', owner.process) });
      if (all.code !== 0 || own.code !== 0) return undefined;
      const left = all.stdout
        .filter((line) => !own.stdout.includes(line) || notRemoved.has(line.split(' ')[1] ?? ''))
        .map((line) => line.split(' '));
      // A container cannot be removed before those that use its network.
      const [doors, agents] = [true, false].map((isDoor) =>
        left.flatMap(([id = '', name = '']) => (name.endsWith(DOOR) === isDoor ? [id] : [])),
      );
      for (const ids of [agents ?? [], doors ?? []]) {
        if (ids.length > 0) await removeContainers(docker, ids);
      }
      await removeLeftSockets(owner);
      return left.length;
    },
    release: (deploymentId: string): Promise<void> => releaseImages(docker, deploymentId),
  };
}

interface StartContainerOptions extends ImageRun {
  readonly docker: Docker;
  readonly contained: Contained | undefined;
  readonly owner: ContainerOwner;
}

/**
 * Runs an image as a container, and waits until it answers. Contained, it has no network but that of its door
 * ({@link startDoor}). Otherwise its port is published on loopback; the engine chooses the number.
 *
 * The container outlives a killed platform: `removeLeft` finds it by its labels.
 * @throws AgentStartError if there is no engine or image, or the container does not become ready. Nothing of it
 * remains.
 */
async function startContainer(options: StartContainerOptions): Promise<RunningAgent> {
  const { docker, owner, env, signal } = options;
  const mask = createSecretMask(Object.values(env));
  await requireEngine(docker, signal);
  const log = (line: string) => options.log(mask(line));
  const own = { uri: options.image, isPulled: options.isPulled, ...owner };
  const image = await holdImage(docker, own, log, signal);
  const name = nameOf(owner);
  const { cores } = await readEngine(docker, signal);
  const { resources, contained } = options;
  if (contained !== undefined) return startContained(options, contained, { name, image, cores });
  const container = new Container(docker, name, options);
  try {
    await runContainer(docker, { name, image, owner, env, resources, cores }, signal);
    const published = await docker({ args: ['port', name, `${portOf(env)}/tcp`], signal });
    const address = published.stdout.find((line) => /^127\.0\.0\.1:\d+$/.test(line));
    if (address === undefined)
      throw containerFailed(await container.whyNoPort(mask(lastWords(published))), signal);
    return await container.answersAt(`http://${address}`);
  } catch (error) {
    await container.remove();
    throw error;
  }
}

/** Runs an image as a hardened container that uses the network of its door. */
async function startContained(
  options: StartContainerOptions,
  contained: Contained,
  { name, image, cores }: { name: string; image: string; cores: number | undefined },
): Promise<RunningAgent> {
  const { docker, owner, resources, signal } = options;
  const env = { ...options.env, ...proxyVariables() };
  const door = await startDoor(options, contained, name, cores);
  const container = new Container(docker, name, { ...options, env });
  const close = async (): Promise<void> => {
    await container.remove();
    await door.close();
  };
  try {
    const network = `container:${door.name}`;
    const request = { name, image, owner, env, resources, cores, hardened: true, network };
    await runContainer(docker, request, signal);
    const agent = await container.answersAt(door.url);
    void container.removed.then(close);
    // Without its door, nothing reaches the agent.
    void door.exited.then(close);
    return {
      ...agent,
      drain: async (timeoutMs) => {
        await agent.drain(timeoutMs);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The end of the name of a door. */
const DOOR = '-door';
const DOOR_MEMORY_MB = 256;

/**
 * Starts the container that shares its network with an image's: it has only a loopback and `imageDoor.ts`, with
 * {@link openSockets} into it and out.
 */
async function startDoor(
  { docker, owner, env, log, signal }: StartContainerOptions,
  contained: Contained,
  ofName: string,
  cores: number | undefined,
) {
  await haveImage(docker, contained.image, log, signal);
  const sockets = await openSockets(undefined, contained.egress(), owner);
  const name = `${ofName}${DOOR}`;
  const container = new Container(docker, name, { env: {}, log, signal, readyTimeoutMs: 0 });
  const close = async (): Promise<void> => {
    await container.remove();
    await sockets.close();
  };
  const program = {
    command: doorCommand(SOCKETS.folder, portOf(env)),
    cwd: '/',
    readOnly: inPlace(placesOfPrograms()),
    writable: { [SOCKETS.folder]: sockets.folder },
  };
  const resources = { memory_limit_mb: DOOR_MEMORY_MB };
  const request = { name, owner, cores, image: contained.image, env: {}, resources, program };
  try {
    await runContainer(docker, { ...request, hardened: true, network: 'none' }, signal);
  } catch (error) {
    await close();
    throw error;
  }
  return { name, url: sockets.url, exited: container.exit(), close };
}

interface StartBuiltOptions extends BuiltRun {
  readonly docker: Docker;
  readonly owner: ContainerOwner;
  readonly image: string;
  readonly egress: Server;
}

/**
 * Runs a built agent in a container without a network, in which only `/tmp` is writable. It connects only through its
 * {@link openSockets}. This package and its dependencies are mounted next to the agent.
 */
async function startBuilt(options: StartBuiltOptions): Promise<RunningAgent> {
  const { docker, owner, image, signal, agentDir } = options;
  await requireEngine(docker, signal);
  await haveImage(docker, image, options.log, signal);
  const { cores } = await readEngine(docker, signal);
  const sockets = await openSockets(options.env['SLIPWAY_AGENT_DATABASE_URL'] ?? '', options.egress, owner);
  const name = nameOf(owner);
  const env = containedEnvironment(options.env);
  const container = new Container(docker, name, { ...options, env });
  try {
    const [, ...args] = agentCommand(agentDir, options.graphConfigPath);
    const program: ContainerProgram = {
      command: ['node', ...args],
      cwd: agentDir,
      readOnly: inPlace([options.workspace, ...placesOfThisPackage()]),
      writable: { [SOCKETS.folder]: sockets.folder },
    };
    const request = { name, image, owner, env, resources: options.resources, cores, program };
    await runContainer(docker, { ...request, hardened: true, network: 'none' }, signal);
    const agent = await container.answersAt(sockets.url);
    void agent.exited.then(() => sockets.close());
    return agent;
  } catch (error) {
    await container.remove();
    await sockets.close();
    throw error;
  }
}

/** @throws AgentStartError if the request is not possible, or the engine refuses it. */
async function runContainer(docker: Docker, request: ContainerRequest, signal: AbortSignal): Promise<void> {
  let call: ReturnType<typeof runCall>;
  try {
    call = runCall(request);
  } catch (error) {
    throw containerFailed((error as Error).message, signal);
  }
  const run = await docker({ ...call, signal });
  if (run.code === 0) return;
  const mask = createSecretMask(Object.values(request.env));
  throw containerFailed(`The container could not be started: ${mask(lastWords(run))}.`, signal);
}
