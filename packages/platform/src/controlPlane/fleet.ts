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

export interface FleetOptions {
  readonly gateway: GatewaySwitch;
  readonly log: Logger;
  /** The timeout of a start until the agent answers, in milliseconds. */
  readonly readyTimeoutMs: number;
  /** How long a replaced agent may continue its runs, in milliseconds. */
  readonly drainTimeoutMs: number;
  /** How long agents may finish their runs when the platform stops, in milliseconds. */
  readonly closeTimeoutMs: number;
}

/** The switch of a deployment to a new agent. */
interface Handover {
  /** Drains the old agent in the background. */
  finish(): void;
  /** Switches back to the old agent and ends the new one. */
  undo(): void;
}

/** The serving agents: one per deployment. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #supervisedAgents = new Map<string, SupervisedAgent>();
  readonly #restartSlots = new Slots(STARTS_AT_ONCE);
  readonly #newAgentSlots = new Slots(STARTS_AT_ONCE);
  /** Work in the background, with the deployment of each. */
  readonly #backgroundTasks = new Map<Promise<void>, string>();

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  /** Starts an agent next to the serving one. @throws why it did not become ready; nothing of it remains */
  start(spec: AgentSpec, signal: AbortSignal): Promise<RunningAgent> {
    return this.#start(this.#newAgentSlots, spec, signal);
  }

  /** Sends the deployment's requests to a ready agent, and keeps it alive from now on. */
  handOver(spec: AgentSpec, agent: RunningAgent): Handover {
    const { deploymentId } = spec;
    const previous = this.#supervisedAgents.get(deploymentId);
    const requestsEnded = this.#switchTo(spec, agent);
    const supervised = this.#supervise(spec, agent);
    return {
      finish: () => {
        if (previous === undefined) return;
        this.#runInBackground(deploymentId, this.#drain(previous, requestsEnded), 'an agent was not drained');
      },
      undo: () => {
        supervised.stopSupervision.abort();
        if (previous === undefined) this.#unregister(deploymentId);
        else this.#takeBack(previous);
        agent.kill();
      },
    };
  }

  /** Restarts the agent that served before the platform stopped, and retries until another one is handed over. */
  restore(spec: AgentSpec): void {
    if (!this.#supervisedAgents.has(spec.deploymentId)) this.#supervise(spec, undefined);
  }

  /** Drains and removes a deployment's agents; resolves when none of them runs. */
  async remove(deploymentId: string): Promise<void> {
    const supervised = this.#supervisedAgents.get(deploymentId);
    this.#supervisedAgents.delete(deploymentId);
    const requestsEnded = this.#options.gateway.remove(deploymentId);
    if (supervised !== undefined) await this.#drain(supervised, requestsEnded);
    // Older agents of the deployment may still be draining. After this, none of its agents writes anything.
    const ofDeployment = [...this.#backgroundTasks].filter(([, id]) => id === deploymentId);
    await Promise.all(ofDeployment.map(([work]) => work));
  }

  /** How many agents serve, and how many are being restarted after they ended by themselves. */
  count(): { readonly running: number; readonly starting: number } {
    const running = [...this.#supervisedAgents.values()].filter(({ agent }) => agent !== undefined).length;
    return { running, starting: this.#supervisedAgents.size - running };
  }

  async close(): Promise<void> {
    const left = [...this.#supervisedAgents.values()];
    this.#supervisedAgents.clear();
    // The listener has stopped: an agent finishes its open requests while it drains.
    const { closeTimeoutMs } = this.#options;
    await Promise.all(left.map((supervised) => this.#drain(supervised, Promise.resolve(), closeTimeoutMs)));
    await Promise.all(this.#backgroundTasks.keys());
  }

  /** Starts an agent once a slot is free. */
  async #start(slots: Slots, spec: AgentSpec, signal: AbortSignal): Promise<RunningAgent> {
    const releaseSlot = await slots.acquire(signal);
    try {
      signal.throwIfAborted();
      return await spec.start({ signal, readyTimeoutMs: this.#options.readyTimeoutMs });
    } finally {
      releaseSlot?.();
    }
  }

  #switchTo({ deploymentId, revisionId }: AgentSpec, { url, exited }: RunningAgent): Promise<void> {
    return this.#options.gateway.switchTo(deploymentId, { url, revisionId, exited });
  }

  #unregister(deploymentId: string): void {
    const { gateway } = this.#options;
    this.#supervisedAgents.delete(deploymentId);
    this.#runInBackground(
      deploymentId,
      gateway.remove(deploymentId),
      'a deployment could not be removed from the gateway',
    );
    gateway.register(deploymentId, { starting: false });
  }

  /** Makes an agent that was replaced the serving one again. */
  #takeBack(previous: SupervisedAgent): void {
    if (previous.agent === undefined) {
      // It ended meanwhile or was being restarted: end its supervision and start a new one.
      previous.stopSupervision.abort();
      this.#supervise(previous.spec, undefined);
    } else {
      this.#supervisedAgents.set(previous.spec.deploymentId, previous);
      void this.#switchTo(previous.spec, previous.agent);
    }
  }

  #supervise(spec: AgentSpec, agent: RunningAgent | undefined): SupervisedAgent {
    const supervised: SupervisedAgent = { spec, stopSupervision: new AbortController(), agent };
    this.#supervisedAgents.set(spec.deploymentId, supervised);
    this.#runInBackground(spec.deploymentId, this.#keepAlive(supervised), 'an agent is no longer watched');
    return supervised;
  }

  /** Waits for the agent's end and restarts it, again and again, until another agent replaces it. */
  async #keepAlive(supervised: SupervisedAgent): Promise<void> {
    const { gateway, log } = this.#options;
    const { spec } = supervised;
    const { signal } = supervised.stopSupervision;
    const isReplaced = (): boolean => this.#supervisedAgents.get(spec.deploymentId) !== supervised;
    let failures = 0;
    while (!signal.aborted) {
      if (supervised.agent !== undefined) {
        const since = performance.now();
        const exit = await Promise.race([supervised.agent.exited, once(signal, 'abort')]);
        if (Array.isArray(exit)) return;
        supervised.agent = undefined;
        if (isReplaced()) return;
        failures = performance.now() - since >= STABLE_AFTER_MS ? 0 : failures + 1;
        log.warn({ ...idsOf(spec), ...exit, failures }, 'an agent exited; restarting it');
      }
      gateway.register(spec.deploymentId, { starting: true });
      // Restart at once after the first end; delay only repeated ones.
      if (!(await pause(restartDelay(failures - 1), signal))) return;
      try {
        const agent = await this.#start(this.#restartSlots, spec, signal);
        if (isAborted(signal) || isReplaced()) {
          agent.kill();
          return;
        }
        supervised.agent = agent;
        void this.#switchTo(spec, agent);
        log.info({ ...idsOf(spec), url: agent.url }, 'an agent serves again');
      } catch (error) {
        if (isAborted(signal)) return;
        failures += 1;
        log.warn({ err: error, ...idsOf(spec), failures }, 'an agent could not be started again');
      }
    }
  }

  async #drain(
    supervised: SupervisedAgent,
    requestsEnded: Promise<void>,
    ms = (supervised.spec.drainMs ?? this.#options.drainTimeoutMs) + HAND_OVER_MS,
  ): Promise<void> {
    supervised.stopSupervision.abort();
    if (supervised.agent === undefined) return;
    const limit = new AbortController();
    await Promise.race([requestsEnded, pause(Math.min(ms - HAND_OVER_MS, OPEN_REQUESTS_MS), limit.signal)]);
    limit.abort();
    await supervised.agent.drain(ms);
  }

  #runInBackground(deploymentId: string, work: Promise<void>, what: string): void {
    const done = work
      .catch((error: unknown) => this.#options.log.error({ err: error, deployment: deploymentId }, what))
      .finally(() => this.#backgroundTasks.delete(done));
    this.#backgroundTasks.set(done, deploymentId);
  }
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
