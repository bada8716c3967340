import { randomUUID } from 'node:crypto';

import type { RunningAgent } from '../agentStart.ts';
import { startContainer, type StartContainerOptions } from './container.ts';
import { type ContainerOwner, ofPlatformArguments } from './containerRequest.ts';
import { createDocker, type Docker } from './dockerCommand.ts';
import { releaseImages } from './images.ts';

/** One revision's image, to be run. See {@link StartContainerOptions}. */
export interface ImageRun extends Omit<StartContainerOptions, 'docker' | 'owner'> {
  readonly deploymentId: string;
  readonly revisionId: string;
}

/** The containers of one platform. */
export interface Containers {
  /** @throws AgentStartError as `startContainer` does. */
  start(run: ImageRun): Promise<RunningAgent>;
  /** Removes what earlier processes of the platform left running; how many, undefined where no engine answers. */
  removeLeft(): Promise<number | undefined>;
  /** Forgets the images of a deployment. */
  release(deploymentId: string): Promise<void>;
}

/**
 * Makes {@link Containers}.
 *
 * @param options - `command`: the docker command, by name or path. `platform`: the platform's name on the engine, the
 *   same after each restart.
 */
export function createContainers(options: { command: string; platform: string }): Containers {
  const docker = createDocker(options.command);
  const owner = { platform: options.platform, process: randomUUID() };
  return {
    start: ({ deploymentId, revisionId, ...run }) =>
      startContainer({ ...run, docker, owner: { ...owner, deploymentId, revisionId } }),
    removeLeft: () => removeLeftContainers(docker, owner),
    release: (deploymentId) => releaseImages(docker, deploymentId),
  };
}

/**
 * Removes the containers that earlier processes of a platform have left running: one that was killed takes none along.
 *
 * @returns how many there were; undefined where the engine did not answer.
 */
async function removeLeftContainers(
  docker: Docker,
  owner: Pick<ContainerOwner, 'platform' | 'process'>,
): Promise<number | undefined> {
  const { code, stdout } = await docker({ args: ['ps', '--all', ...ofPlatformArguments(owner.platform)] });
  if (code !== 0) return undefined;
  const left = stdout.map((line) => line.split(' ')).filter(([, process]) => process !== owner.process);
  const ids = left.flatMap(([id]) => (id === undefined ? [] : [id]));
  if (ids.length > 0) await docker({ args: ['rm', '--force', '--volumes', ...ids] });
  return ids.length;
}
