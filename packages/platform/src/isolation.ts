import type { Logger } from 'pino';

import { ReachableAddresses } from './agentServer/webhooks/reachableAddresses.ts';
import type { BuildLimits } from './builder/buildLimits.ts';
import { buildRevision } from './builder/buildRevision.ts';
import type { ControlPlaneOptions } from './controlPlane/controlPlane.ts';
import type { BuildRevision, Isolation, StartAgent } from './controlPlane/dependencies.ts';
import { startAgent } from './runtime/agentProcess.ts';
import { createContainers } from './runtime/docker/containers.ts';
import { createDocker, engineAnswers } from './runtime/docker/dockerCommand.ts';
import { hasImage } from './runtime/docker/images.ts';
import { createEgress } from './runtime/egress.ts';

/** How builds and agents run. */
export interface IsolationOptions {
  /** The limits of a build. Default: `DEFAULT_BUILD_LIMITS`. */
  buildLimits?: BuildLimits;
  /** Replaces the builder and the start of agents. Default: the real ones. */
  buildRevision?: BuildRevision;
  startAgent?: StartAgent;
  /** The container command, by name or path. Default: `docker`. */
  dockerCommand?: string;
  /** How builds and agents run. `auto`: in containers if possible on Linux. Default: `process`. */
  isolation?: Isolation | 'auto';
  /** The image of builds and agents in containers, with this version of Node as `node`. Default: Node's own. */
  agentImage?: string;
  /** Non-public addresses, networks and names that builds and agents in containers may reach. Default: none. */
  egressAllow?: readonly string[];
}

/** Opens how builds and agents run. The engine knows the platform's containers by its instance id. */
export async function openRuntime(
  options: IsolationOptions,
  instanceId: string,
  log: Logger,
): Promise<Required<Pick<ControlPlaneOptions, 'isolation' | 'containers' | 'buildRevision' | 'startAgent'>>> {
  const { dockerCommand = 'docker', agentImage: image = AGENT_IMAGE } = options;
  const { isolation, logLine } = await resolveIsolation(options.isolation ?? 'process', dockerCommand, image);
  log[isolation === 'container' ? 'info' : 'warn'](logLine);
  const reachable = new ReachableAddresses(options.egressAllow);
  const contained = isolation === 'container' ? { image, egress: () => createEgress(reachable) } : undefined;
  const containers = createContainers({
    command: dockerCommand,
    platform: instanceId,
    contained,
  });
  const build: BuildRevision = ({ deploymentId, revisionId, ...of }) =>
    buildRevision({
      ...of,
      limits: options.buildLimits,
      openShell:
        contained && ((build) => containers.openShell({ ...build, deploymentId, revisionId }, contained)),
    });
  const start: StartAgent = contained ? (run) => containers.startBuilt(run, contained) : startAgent;
  return {
    isolation,
    containers,
    buildRevision: options.buildRevision ?? build,
    startAgent: options.startAgent ?? start,
  };
}

/** The default image of builds and agents in containers: this Node. */
const AGENT_IMAGE = `docker.io/library/node:${process.versions.node}-bookworm-slim`;

const ISOLATION_LOG_LINES: Readonly<Record<Isolation, string>> = {
  container: 'builds and agents run in containers that are kept apart (isolation: container)',
  process:
    "builds and agents run as the platform's user (isolation: process): a deploy key can do what the operator can",
};

/** Containers if the engine answers and has the image: by default, a deployment must not depend on a registry. */
async function resolveIsolation(
  requested: Isolation | 'auto',
  dockerCommand: string,
  image: string,
): Promise<{ readonly isolation: Isolation; readonly logLine: string }> {
  if (requested !== 'auto') return { isolation: requested, logLine: ISOLATION_LOG_LINES[requested] };
  const docker = createDocker(dockerCommand);
  if (process.platform !== 'linux' || !(await engineAnswers(docker)))
    return { isolation: 'process', logLine: ISOLATION_LOG_LINES.process };
  if (await hasImage(docker, image))
    return { isolation: 'container', logLine: ISOLATION_LOG_LINES.container };
  const next = `to run them in containers: ${dockerCommand} pull ${image}, or --isolation container`;
  return { isolation: 'process', logLine: `${ISOLATION_LOG_LINES.process}; ${next}` };
}
