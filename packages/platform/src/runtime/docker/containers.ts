import { randomUUID } from 'node:crypto';
import type { Server } from 'node:net';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  type AgentExit,
  AgentStartError,
  limitStart,
  probeUntilOk,
  type RunningAgent,
} from '../agentStart.ts';
import { agentCommand, placesOfThisPackage } from '../agentCommand.ts';
import { containedEnvironment, SOCKETS } from '../containedAgent.ts';
import { followOutput } from '../outputLines.ts';
import { createSecretMask } from '../secretMask.ts';
import {
  type ContainerOwner,
  type ContainerResources,
  ofPlatformArguments,
  portOf,
  runCall,
} from './containerRequest.ts';
import {
  coresOfEngine,
  createDocker,
  type Docker,
  haveImage,
  haveNetwork,
  holdImage,
  lastWords,
  releaseImages,
  requireEngine,
} from './dockerCommand.ts';
import { openSockets } from './sockets.ts';

/** A revision's image to run. See {@link StartContainerOptions}. */
export interface ImageRun extends Omit<StartContainerOptions, 'docker' | 'owner' | 'hardened'> {
  readonly deploymentId: string;
  readonly revisionId: string;
}

/** Options of a container's run. */
interface ContainerRun {
  readonly resources: ContainerResources;
  /** The container's variables. Values are masked in the log. */
  readonly env: Readonly<Record<string, string>>;
  /** The pull's progress and the container's output, line by line. */
  readonly log: (line: string) => void;
  /** Cancels the start. No effect once the agent runs. */
  readonly signal: AbortSignal;
  /** From the container's start to the first 200 of `GET /ok`, in ms. The pull has its own timeout. */
  readonly readyTimeoutMs: number;
}

/** A revision's built agent to run in a container. Its variables include the URL of its database. */
export interface BuiltRun extends ContainerRun {
  readonly deploymentId: string;
  readonly revisionId: string;
  /** The built workspace, which contains the agent's folder. */
  readonly workspace: string;
  readonly agentDir: string;
  readonly graphConfigPath: string;
}

/** The containers of one platform. */
export type Containers = ReturnType<typeof createContainers>;

/**
 * Makes {@link Containers}.
 * @param options - `command`: the docker command, by name or path. `platform`: the platform's name on the engine, the
 * same after each restart. `hardened`: isolates containers (`--isolation container`).
 */
export function createContainers(options: { command: string; platform: string; hardened?: boolean }) {
  const docker = createDocker(options.command);
  const hardened = options.hardened ?? false;
  const owner = { platform: options.platform, process: randomUUID() };
  return {
    /** @throws AgentStartError as `startContainer` does. */
    start: ({ deploymentId, revisionId, ...run }: ImageRun): Promise<RunningAgent> =>
      startContainer({ ...run, docker, hardened, owner: { ...owner, deploymentId, revisionId } }),
    /**
     * Runs a built agent in a container of `image` without a network; `egress` is its outbound proxy.
     * @throws AgentStartError as `start` does.
     */
    startBuilt: (
      { deploymentId, revisionId, ...run }: BuiltRun,
      { image, egress }: { image: string; egress: Server },
    ): Promise<RunningAgent> =>
      startBuilt({ ...run, docker, image, egress, owner: { ...owner, deploymentId, revisionId } }),
    /**
     * Removes containers that earlier processes of the platform left running, because a killed process removes none.
     * Returns how many there were; undefined if the engine did not answer.
     */
    removeLeft: async (): Promise<number | undefined> => {
      const { code, stdout } = await docker({
        args: ['ps', '--all', ...ofPlatformArguments(owner.platform)],
      });
      if (code !== 0) return undefined;
      const left = stdout.map((line) => line.split(' ')).filter(([, process]) => process !== owner.process);
      const ids = left.flatMap(([id]) => id ?? []);
      if (ids.length > 0) await docker({ args: ['rm', '--force', '--volumes', ...ids] });
      return ids.length;
    },
    /** Removes a deployment's image names and its network. */
    release: async (deploymentId: string): Promise<void> => {
      await releaseImages(docker, deploymentId);
      if (hardened) await docker({ args: ['network', 'rm', networkOf({ ...owner, deploymentId })] });
    },
  };
}

/** The delay before an unanswered query about a container is repeated, in ms. */
const ASK_AGAIN_MS = 1_000;

/** Options of {@link startContainer}. */
interface StartContainerOptions extends ContainerRun {
  readonly docker: Docker;
  /** `image_uri`. */
  readonly image: string;
  /** See `RevisionImage`. */
  readonly isPulled: boolean;
  /** See `ContainerRequest`. */
  readonly hardened: boolean;
  readonly owner: ContainerOwner;
}

/**
 * Runs an image as a container, and waits until it answers. Its port is published on loopback; the engine chooses the
 * number.
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
  const cores = await coresOfEngine(docker, signal);
  const { hardened, resources } = options;
  const network = hardened ? networkOf(owner) : undefined;
  if (network !== undefined) await haveNetwork(docker, network, signal);
  const call = callOf({ name, image, owner, env, resources, cores, hardened, network });
  const container = new Container(docker, name, options);
  try {
    const run = await docker({ ...call, signal });
    if (run.code !== 0) throw failed(`The container could not be started: ${mask(lastWords(run))}.`, signal);
    const published = await docker({ args: ['port', name, `${portOf(env)}/tcp`], signal });
    const address = published.stdout.find((line) => /^127\.0\.0\.1:\d+$/.test(line));
    if (address === undefined) throw failed(await container.whyNoPort(mask(lastWords(published))), signal);
    return await container.answersAt(`http://${address}`);
  } catch (error) {
    await container.remove();
    throw error;
  }
}

interface StartBuiltOptions extends Omit<BuiltRun, 'deploymentId' | 'revisionId'> {
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
  const cores = await coresOfEngine(docker, signal);
  const sockets = await openSockets(options.env['SLIPWAY_AGENT_DATABASE_URL'] ?? '', options.egress);
  const name = nameOf(owner);
  const env = containedEnvironment(options.env);
  const container = new Container(docker, name, { ...options, env });
  try {
    const [, ...args] = agentCommand(agentDir, options.graphConfigPath);
    const call = callOf({
      name,
      image,
      owner,
      env,
      resources: options.resources,
      cores,
      hardened: true,
      network: 'none',
      program: {
        command: ['node', ...args],
        cwd: agentDir,
        readOnly: [options.workspace, ...(await placesOfThisPackage())],
        writable: { [SOCKETS.folder]: sockets.folder },
      },
    });
    const run = await docker({ ...call, signal });
    if (run.code !== 0) {
      const mask = createSecretMask(Object.values(env));
      throw failed(`The container could not be started: ${mask(lastWords(run))}.`, signal);
    }
    const agent = await container.answersAt(sockets.url);
    void agent.exited.then(() => sockets.close());
    return agent;
  } catch (error) {
    await container.remove();
    await sockets.close();
    throw error;
  }
}

function nameOf(owner: ContainerOwner): string {
  return `slipway-${owner.revisionId}-${randomUUID().slice(0, 8)}`;
}

/** The network of a deployment's containers. */
function networkOf(owner: Pick<ContainerOwner, 'platform' | 'deploymentId'>): string {
  return `slipway-${owner.platform.slice(0, 8)}-${owner.deploymentId}`;
}

function callOf(request: Parameters<typeof runCall>[0]): ReturnType<typeof runCall> {
  try {
    return runCall(request);
  } catch (error) {
    throw new AgentStartError({ kind: 'container', cause: (error as Error).message }, []);
  }
}

function failed(cause: string, signal: AbortSignal): AgentStartError {
  return new AgentStartError(signal.aborted ? { kind: 'aborted' } : { kind: 'container', cause }, []);
}

/** Options for following a container. */
type Followed = Pick<StartContainerOptions, 'env' | 'log' | 'signal' | 'readyTimeoutMs'>;

/** A container that runs or starts. */
class Container {
  readonly #docker: Docker;
  readonly #name: string;
  readonly #options: Followed;
  #removed: Promise<void> | undefined;

  constructor(docker: Docker, name: string, options: Followed) {
    this.#docker = docker;
    this.#name = name;
    this.#options = options;
  }

  /** Follows the container, and waits until it answers. */
  async answersAt(url: string): Promise<RunningAgent> {
    const { env, log, signal, readyTimeoutMs } = this.#options;
    const streams = { stdout: new PassThrough(), stderr: new PassThrough() };
    const output = followOutput(streams, Object.values(env), log);
    const following = this.#follow(streams.stdout);
    const exited = this.#exit();

    let seen = 'nothing answered';
    const start = limitStart(signal, readyTimeoutMs, () => seen);
    // Wait for its last output, which shows why it ended.
    void exited.then(async (exit) => {
      await Promise.race([following, sleep(ASK_AGAIN_MS)]);
      start.fail({ kind: 'exited', ...exit });
    });
    try {
      await probeUntilOk(url, (answer) => (seen = answer), start.signal);
      return this.#running(url, exited, following);
    } catch (error) {
      throw start.errorOf(error, output.lastLines());
    } finally {
      start.release();
    }
  }

  /** Explains a missing port: a container that has already ended publishes none, so its last lines are included. */
  async whyNoPort(said: string): Promise<string> {
    const { stdout, stderr } = await this.#docker({ args: ['logs', '--tail', '20', this.#name] });
    const mask = createSecretMask(Object.values(this.#options.env));
    const lines = [...stdout, ...stderr].map((line) => mask(line));
    const last = lines.length === 0 ? ' It printed nothing.' : ` Its last lines:\n${lines.join('\n')}`;
    return `The container publishes no port (${said}).${last}`;
  }

  /** Removes the container, running or not. Further calls share the first result. */
  remove(): Promise<void> {
    this.#removed ??= this.#docker({ args: ['rm', '--force', '--volumes', this.#name] }).then(
      () => undefined,
    );
    return this.#removed;
  }

  #running(url: string, exited: Promise<AgentExit>, following: Promise<void>): RunningAgent {
    // Not before its last lines have been read.
    const removeRead = async (): Promise<void> => {
      await Promise.race([following, sleep(ASK_AGAIN_MS)]);
      await this.remove();
    };
    void exited.then(removeRead);
    return {
      url,
      exited,
      kill: () => void this.remove(),
      drain: async (timeoutMs) => {
        const seconds = String(Math.ceil(timeoutMs / 1000));
        await this.#docker({ args: ['stop', '-t', seconds, this.#name], timeoutMs: timeoutMs + 60_000 });
        await removeRead();
      },
    };
  }

  /** Passes on the container's output while it runs. */
  async #follow(to: PassThrough): Promise<void> {
    await this.#docker({
      args: ['logs', '--follow', this.#name],
      timeoutMs: Infinity,
      // Mark a cut line as cut, because the mask depends on it.
      onLine: (line, cut) => void to.write(`${line}${cut ? ' …' : ''}\n`),
    });
    to.end();
  }

  /** Waits for the end of the container, even if the engine restarts. */
  async #exit(): Promise<AgentExit> {
    for (;;) {
      const { code, stdout } = await this.#docker({ args: ['wait', this.#name], timeoutMs: Infinity });
      const status = Number(stdout.at(-1));
      if (code === 0 && Number.isInteger(status)) return { code: status, signal: null };
      if (this.#removed !== undefined) return { code: null, signal: 'SIGKILL' };
      const { stderr } = await this.#docker({
        args: ['inspect', '--format', '{{.State.Status}}', this.#name],
      });
      if (stderr.some((line) => /no such (object|container)/i.test(line)))
        return { code: null, signal: null };
      await sleep(ASK_AGAIN_MS, undefined, { ref: false });
    }
  }
}
