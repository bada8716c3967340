import type { Gateway } from '../gateway/gateway.ts';
import type { ContainerResources } from '../runtime/docker/containerRequest.ts';
import type { RunningAgent } from '../runtime/agentStart.ts';

/** The result of a build: the built agent's folder (absolute, inside the workspace), or why it failed. */
export type BuildResult =
  | { readonly ok: true; readonly agentDir: string; readonly graphConfigPath: string }
  | { readonly ok: false; readonly reason: string };

/** Builds a revision's source. A failure of the source is a result, never an error. */
export type BuildRevision = (options: {
  deploymentId: string;
  revisionId: string;
  /** The path of the uploaded tarball. */
  tarball: string;
  /** An empty directory for this build. */
  workspace: string;
  graphConfigPath: string;
  installCommand: string | null;
  buildCommand: string | null;
  /** A folder that does not exist, for temporary files. The caller removes it. */
  scratch: string;
  /** Shared by all builds of a tenant. */
  cacheDir: string;
  log: (line: string) => void;
  signal: AbortSignal;
}) => Promise<BuildResult>;

/** Limits of an agent's start. */
export interface StartLimits {
  /** Cancels the start. */
  readonly signal: AbortSignal;
  /** The timeout until the agent answers, in milliseconds. */
  readonly readyTimeoutMs: number;
}

/** Starts a built agent and resolves once it answers. @throws an error that says why it did not */
export type StartAgent = (
  options: StartLimits & {
    deploymentId: string;
    revisionId: string;
    /** The built workspace, which contains the agent's folder. */
    workspace: string;
    /** Its resource limits if it runs in a container. */
    resources: ContainerResources;
    agentDir: string;
    graphConfigPath: string;
    env: Record<string, string>;
    log: (line: string) => void;
  },
) => Promise<RunningAgent>;

/** How builds and agents run: in isolated containers, or as processes of the platform's user. */
export type Isolation = 'container' | 'process';

/** The part of the gateway that the control plane uses. */
export type GatewaySwitch = Pick<Gateway, 'register' | 'switchTo' | 'remove'>;
