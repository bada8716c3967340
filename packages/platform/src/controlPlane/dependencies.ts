import type { BuildOptions, BuildResult } from '../builder/buildRevision.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { AgentStart, RunningAgent } from '../runtime/agentStart.ts';
import type { BuiltRun } from '../runtime/docker/containers.ts';

/** Builds a revision's source. A failure of the source is a result, never an error. */
export type BuildRevision = (
  options: Omit<BuildOptions, 'openShell' | 'limits'> & {
    readonly deploymentId: string;
    readonly revisionId: string;
  },
) => Promise<BuildResult>;

export type StartLimits = Pick<AgentStart, 'signal' | 'readyTimeoutMs'>;

/** Starts a built agent and resolves once it answers. @throws an error that says why it did not */
export type StartAgent = (options: BuiltRun) => Promise<RunningAgent>;

/** How builds and agents run: in isolated containers, or as processes of the platform's user. */
export type Isolation = 'container' | 'process';

/** The part of the gateway that the control plane uses. */
export type GatewaySwitch = Pick<Gateway, 'register' | 'switchTo' | 'remove'>;
