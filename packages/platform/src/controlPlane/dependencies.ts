import type { Gateway } from '../gateway/gateway.ts';
import type { ContainerResources } from '../runtime/docker/containerRequest.ts';
import type { Containers as AllContainers } from '../runtime/docker/containers.ts';
import type { RunningAgent } from '../runtime/agentStart.ts';

/** How a build ended: where the built agent lies (absolute, inside the workspace), or why there is none. */
export type BuildResult =
  | { readonly ok: true; readonly agentDir: string; readonly graphConfigPath: string }
  | { readonly ok: false; readonly reason: string };

/** Builds a revision's source. Never throws for what the source did. */
export type BuildRevision = (options: {
  /** The uploaded tarball's path. */
  tarball: string;
  /** An empty directory of this build's own. */
  workspace: string;
  graphConfigPath: string;
  installCommand: string | null;
  buildCommand: string | null;
  /** Shared by all builds. */
  cacheDir: string;
  log: (line: string) => void;
  signal: AbortSignal;
}) => Promise<BuildResult>;

/** What bounds the start of an agent. */
export interface StartLimits {
  /** Calls the start off. */
  readonly signal: AbortSignal;
  /** How long it may take until the agent answers, in milliseconds. */
  readonly readyTimeoutMs: number;
}

/** Starts a built agent and resolves once it answers; throws an error that says why it did not. */
export type StartAgent = (
  options: StartLimits & {
    deploymentId: string;
    revisionId: string;
    /** What was built: the agent's folder is in it. */
    workspace: string;
    /** What it may use, where it runs in a container. */
    resources: ContainerResources;
    agentDir: string;
    graphConfigPath: string;
    env: Record<string, string>;
    log: (line: string) => void;
  },
) => Promise<RunningAgent>;

/** What agents run as: containers that are kept apart, or processes of the platform's user. */
export type Isolation = 'container' | 'process';

/** Runs images, and cleans up after them. */
export type Containers = AllContainers;

/** The part of the gateway that the control plane moves. */
export type Switchboard = Pick<Gateway, 'register' | 'switchTo' | 'remove'>;
