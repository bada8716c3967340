import { once } from 'node:events';
import { availableParallelism } from 'node:os';

import type { Logger } from 'pino';

import { pause } from '../pause.ts';
import { HAND_OVER_MS, type RunningAgent } from '../runtime/agentStart.ts';
import { Slots } from '../slots.ts';
import type { StartLimits, GatewaySwitch } from './dependencies.ts';

/** How long a replaced agent may answer its last requests before it is drained, in milliseconds. */
const OPEN_REQUESTS_MS = 5_000;

/** The agent of one revision, and how it is started: as a process, or as a container. */
export interface AgentSpec {
  readonly deploymentId: string;
  readonly revisionId: string;
  /** How long a drained agent may continue its runs, in milliseconds. Default: the fleet's `drainTimeoutMs`. */
  readonly drainMs?: number;
  /** Starts a new agent and resolves once it answers. @throws an error that says why it did not */
  start(limits: StartLimits): Promise<RunningAgent>;
}

interface SupervisedAgent {
  readonly spec: AgentSpec;
  readonly stopSupervision: AbortController;
  agent: RunningAgent | undefined;
}

/** The serving agents: one per deployment. */
export type Fleet = ReturnType<typeof createFleet>;

export function createFleet(options: {
  gateway: GatewaySwitch;
  log: Logger;
  /** The timeout of a start until the agent answers, in milliseconds. */
  readyTimeoutMs: number;
  /** How long a replaced agent may continue its runs, in milliseconds. */
  drainTimeoutMs: number;
  /** How long agents may finish their runs when the platform stops, in milliseconds. */
  closeTimeoutMs: number;
}) {
  const supervisedAgents = new Map<string, SupervisedAgent>();
  const restartSlots = new Slots(STARTS_AT_ONCE);
  const newAgentSlots = new Slots(STARTS_AT_ONCE);
  /** Work in the background, with the deployment of each. */
  const backgroundTasks = new Map<Promise<void>, string>();

  /** Starts an agent once a slot is free. */
  const start = async (slots: Slots, spec: AgentSpec, signal: AbortSignal): Promise<RunningAgent> => {
    const releaseSlot = await slots.acquire(signal);
    try {
      signal.throwIfAborted();
      return await spec.start({ signal, readyTimeoutMs: options.readyTimeoutMs });
    } finally {
      releaseSlot?.();
    }
  };

  const runInBackground = (deploymentId: string, work: Promise<void>, what: string): void => {
    const done = work
      .catch((error: unknown) => options.log.error({ err: error, deployment: deploymentId }, what))
      .finally(() => backgroundTasks.delete(done));
    backgroundTasks.set(done, deploymentId);
  };

  const switchTo = (spec: AgentSpec, agent: RunningAgent): Promise<void> =>
    options.gateway.switchTo(spec.deploymentId, {
      url: agent.url,
      revisionId: spec.revisionId,
      exited: agent.exited,
    });

  /** Waits for the agent's end and restarts it, again and again, until another agent replaces it. */
  const supervise = async (supervised: SupervisedAgent): Promise<void> => {
    const { signal } = supervised.stopSupervision;
    let failures = 0;
    while (!signal.aborted) {
      if (supervised.agent !== undefined) {
        const since = performance.now();
        const exit = await Promise.race([supervised.agent.exited, once(signal, 'abort')]);
        if (Array.isArray(exit)) return;
        supervised.agent = undefined;
        // Another agent has replaced this one, so its end does not matter.
        if (supervisedAgents.get(supervised.spec.deploymentId) !== supervised) return;
        failures = performance.now() - since >= STABLE_AFTER_MS ? 0 : failures + 1;
        options.log.warn({ ...idsOf(supervised.spec), ...exit, failures }, 'an agent exited; restarting it');
      }
      options.gateway.register(supervised.spec.deploymentId, { starting: true });
      // Restart at once after the first end; delay only repeated ones.
      if (!(await pause(restartDelay(failures - 1), signal))) return;
      try {
        const agent = await start(restartSlots, supervised.spec, signal);
        if (isAborted(signal) || supervisedAgents.get(supervised.spec.deploymentId) !== supervised) {
          agent.kill();
          return;
        }
        supervised.agent = agent;
        void switchTo(supervised.spec, agent);
        options.log.info({ ...idsOf(supervised.spec), url: agent.url }, 'an agent serves again');
      } catch (error) {
        if (isAborted(signal)) return;
        failures += 1;
        options.log.warn(
          { err: error, ...idsOf(supervised.spec), failures },
          'an agent could not be started again',
        );
      }
    }
  };

  const startSupervision = (spec: AgentSpec, agent: RunningAgent | undefined): SupervisedAgent => {
    const supervised: SupervisedAgent = { spec, stopSupervision: new AbortController(), agent };
    supervisedAgents.set(spec.deploymentId, supervised);
    runInBackground(spec.deploymentId, supervise(supervised), 'an agent is no longer watched');
    return supervised;
  };

  const drain = async (
    supervised: SupervisedAgent,
    requestsEnded: Promise<void>,
    ms = (supervised.spec.drainMs ?? options.drainTimeoutMs) + HAND_OVER_MS,
  ): Promise<void> => {
    supervised.stopSupervision.abort();
    if (supervised.agent === undefined) return;
    const limit = new AbortController();
    await Promise.race([requestsEnded, pause(Math.min(ms - HAND_OVER_MS, OPEN_REQUESTS_MS), limit.signal)]);
    limit.abort();
    await supervised.agent.drain(ms);
  };

  return {
    /** Starts an agent next to the serving one. @throws why it did not become ready; nothing of it remains */
    start: (spec: AgentSpec, signal: AbortSignal): Promise<RunningAgent> =>
      start(newAgentSlots, spec, signal),
    /** Sends the deployment's requests to a ready agent, and keeps it alive from now on. */
    handOver: (spec: AgentSpec, agent: RunningAgent) => {
      const previous = supervisedAgents.get(spec.deploymentId);
      const requestsEnded = switchTo(spec, agent);
      const supervised = startSupervision(spec, agent);
      return {
        /** Drains the old agent in the background. */
        finish: (): void => {
          if (previous === undefined) return;
          runInBackground(spec.deploymentId, drain(previous, requestsEnded), 'an agent was not drained');
        },
        /** Switches back to the old agent and ends the new one. */
        undo: (): void => {
          supervised.stopSupervision.abort();
          if (previous === undefined) {
            supervisedAgents.delete(spec.deploymentId);
            runInBackground(
              spec.deploymentId,
              options.gateway.remove(spec.deploymentId),
              'a deployment could not be removed from the gateway',
            );
            options.gateway.register(spec.deploymentId, { starting: false });
          } else {
            supervisedAgents.set(spec.deploymentId, previous);
            if (previous.agent === undefined) {
              // It ended meanwhile or was being restarted: end its supervision and start a new one.
              previous.stopSupervision.abort();
              startSupervision(previous.spec, undefined);
            } else void switchTo(previous.spec, previous.agent);
          }
          agent.kill();
        },
      };
    },
    /** Restarts the agent that served before the platform stopped, and retries until another one is handed over. */
    restore: (spec: AgentSpec): void => {
      if (!supervisedAgents.has(spec.deploymentId)) startSupervision(spec, undefined);
    },
    /** Drains and removes a deployment's agents; resolves when none of them runs. */
    remove: async (deploymentId: string): Promise<void> => {
      const supervised = supervisedAgents.get(deploymentId);
      supervisedAgents.delete(deploymentId);
      const requestsEnded = options.gateway.remove(deploymentId);
      if (supervised !== undefined) await drain(supervised, requestsEnded);
      // Older agents of the deployment may still be draining. After this, none of its agents writes anything.
      await Promise.all([...backgroundTasks].filter(([, id]) => id === deploymentId).map(([work]) => work));
    },
    /** How many agents serve, and how many are being restarted after they ended by themselves. */
    count: (): { readonly running: number; readonly starting: number } => {
      const running = [...supervisedAgents.values()].filter(({ agent }) => agent !== undefined).length;
      return { running, starting: supervisedAgents.size - running };
    },
    close: async (): Promise<void> => {
      const left = [...supervisedAgents.values()];
      supervisedAgents.clear();
      // The listener has stopped: an agent finishes its open requests while it drains.
      await Promise.all(
        left.map((supervised) => drain(supervised, Promise.resolve(), options.closeTimeoutMs)),
      );
      await Promise.all(backgroundTasks.keys());
    },
  };
}

function idsOf(spec: AgentSpec): { deployment: string; revision: string } {
  return { deployment: spec.deploymentId, revision: spec.revisionId };
}

/** Whether a signal was aborted: TypeScript would narrow `signal.aborted` to its earlier value. */
export function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

/**
 * How many agents are restarted at once, and how many of new revisions start at once: neither waits for the other.
 * After a restart of the platform, or a redeploy of every deployment, all are due: if all started together, none would
 * answer within the timeout.
 */
export const STARTS_AT_ONCE = Math.max(4, 2 * availableParallelism());

/** An agent that ran this long counts as having started well, in milliseconds. */
const STABLE_AFTER_MS = 60_000;

/**
 * The delay before an agent that ended by itself is restarted, in milliseconds: 0 the first time, then 0.5 s,
 * doubling up to 30 s.
 * @param failures How often in a row it ended before {@link STABLE_AFTER_MS} or did not start; from 0.
 */
export function restartDelay(failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(500 * 2 ** (failures - 1), 30_000);
}
