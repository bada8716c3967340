import { setTimeout as sleep } from 'node:timers/promises';

import type { Logger } from 'pino';

import { HAND_OVER_MS } from '../draining.ts';
import type { RunningAgent } from '../runtime/agentStart.ts';
import type { StartLimits, Switchboard } from './dependencies.ts';

/**
 * How long a replaced agent may answer its last requests before it is drained, in milliseconds. Requests that start
 * something end within that time; those that follow a run are answered while it drains.
 */
const REQUESTS_MS = 5_000;

/** The agent of one revision, and how it is started: as a process, or as a container. */
export interface AgentSpec {
  readonly deploymentId: string;
  readonly revisionId: string;
  /** How long a drained agent may continue its runs, in milliseconds. Default: the fleet's `drainTimeoutMs`. */
  readonly drainMs?: number;
  /** Starts a new agent and resolves once it answers. @throws an error that says why it did not */
  start(limits: StartLimits): Promise<RunningAgent>;
}

/** A switch that was made and can still be undone. */
interface Handover {
  /** Drains the old agent in the background. */
  finish(): void;
  /** Switches back to the old agent and ends the new one. */
  undo(): void;
}

/** One deployment's agent and its supervision. */
interface Post {
  readonly spec: AgentSpec;
  readonly leave: AbortController;
  agent: RunningAgent | undefined;
}

/** The serving agents: one per deployment. */
export type Fleet = ReturnType<typeof createFleet>;

/** Makes a {@link Fleet} without agents. */
export function createFleet(options: {
  gateway: Switchboard;
  log: Logger;
  /** The timeout of a start until the agent answers, in milliseconds. */
  readyTimeoutMs: number;
  /** How long a replaced agent may continue its runs, in milliseconds. */
  drainTimeoutMs: number;
  /** How long agents may finish their runs when the platform stops, in milliseconds. */
  closeTimeoutMs: number;
}) {
  const posts = new Map<string, Post>();
  /** Work in the background, with the deployment of each. */
  const ending = new Map<Promise<void>, string>();

  const start = (spec: AgentSpec, signal: AbortSignal): Promise<RunningAgent> =>
    spec.start({ signal, readyTimeoutMs: options.readyTimeoutMs });

  const inBackground = (deploymentId: string, work: Promise<void>, what: string): void => {
    const done = work
      .catch((error: unknown) => options.log.error({ err: error, deployment: deploymentId }, what))
      .finally(() => ending.delete(done));
    ending.set(done, deploymentId);
  };

  const switchTo = (spec: AgentSpec, agent: RunningAgent): Promise<void> =>
    options.gateway.switchTo(spec.deploymentId, {
      url: agent.url,
      revisionId: spec.revisionId,
      exited: agent.exited,
    });

  /** Waits for the agent's end and restarts it, again and again, until another agent replaces it. */
  const keepAlive = async (post: Post): Promise<void> => {
    const { signal } = post.leave;
    let failures = 0;
    while (!signal.aborted) {
      if (post.agent !== undefined) {
        const since = performance.now();
        const exit = await Promise.race([post.agent.exited, aborted(signal)]);
        if (exit === undefined) return;
        post.agent = undefined;
        // Another agent has replaced this one, so its end does not matter.
        if (posts.get(post.spec.deploymentId) !== post) return;
        failures = performance.now() - since >= LIVED_WELL_MS ? 0 : failures + 1;
        options.log.warn(
          { ...idsOf(post.spec), ...exit, failures },
          'an agent ended by itself; restarting it',
        );
      }
      options.gateway.register(post.spec.deploymentId, { starting: true });
      // Restart at once after the first end; delay only repeated ones.
      if (!(await pause(restartDelay(failures - 1), signal))) return;
      try {
        const agent = await start(post.spec, signal);
        if (isOver(signal) || posts.get(post.spec.deploymentId) !== post) {
          agent.kill();
          return;
        }
        post.agent = agent;
        void switchTo(post.spec, agent);
        options.log.info({ ...idsOf(post.spec), url: agent.url }, 'an agent serves again');
      } catch (error) {
        if (isOver(signal)) return;
        failures += 1;
        options.log.warn(
          { err: error, ...idsOf(post.spec), failures },
          'an agent could not be started again',
        );
      }
    }
  };

  const take = (spec: AgentSpec, agent: RunningAgent | undefined): Post => {
    const post: Post = { spec, leave: new AbortController(), agent };
    posts.set(spec.deploymentId, post);
    inBackground(spec.deploymentId, keepAlive(post), 'an agent is no longer watched');
    return post;
  };

  const drain = async (
    post: Post,
    requestsOver: Promise<void>,
    ms = (post.spec.drainMs ?? options.drainTimeoutMs) + HAND_OVER_MS,
  ): Promise<void> => {
    post.leave.abort();
    if (post.agent === undefined) return;
    const limit = new AbortController();
    await Promise.race([requestsOver, pause(Math.min(ms - HAND_OVER_MS, REQUESTS_MS), limit.signal)]);
    limit.abort();
    await post.agent.drain(ms);
  };

  return {
    /** Starts an agent next to the serving one. @throws why it did not become ready; nothing of it remains */
    start,
    /** Sends the deployment's requests to a ready agent, and keeps it alive from now on. */
    handOver: (spec: AgentSpec, agent: RunningAgent): Handover => {
      const before = posts.get(spec.deploymentId);
      const requestsOver = switchTo(spec, agent);
      const post = take(spec, agent);
      return {
        finish: () => {
          if (before === undefined) return;
          inBackground(spec.deploymentId, drain(before, requestsOver), 'an agent was not drained');
        },
        undo: () => {
          post.leave.abort();
          if (before === undefined) {
            posts.delete(spec.deploymentId);
            inBackground(
              spec.deploymentId,
              options.gateway.remove(spec.deploymentId),
              'a deployment was not taken off the gateway',
            );
            options.gateway.register(spec.deploymentId, { starting: false });
          } else {
            posts.set(spec.deploymentId, before);
            if (before.agent === undefined) {
              // It ended meanwhile or was being restarted: end its supervision and start a new one.
              before.leave.abort();
              take(before.spec, undefined);
            } else void switchTo(before.spec, before.agent);
          }
          agent.kill();
        },
      };
    },
    /** Restarts the agent that served before the platform stopped, and retries until another one is handed over. */
    restore: (spec: AgentSpec): void => {
      if (!posts.has(spec.deploymentId)) take(spec, undefined);
    },
    /** Drains and removes a deployment's agents; resolves when none of them runs. */
    remove: async (deploymentId: string): Promise<void> => {
      const post = posts.get(deploymentId);
      posts.delete(deploymentId);
      const requestsOver = options.gateway.remove(deploymentId);
      if (post !== undefined) await drain(post, requestsOver);
      // Older agents of the deployment may still be draining. After this, none of its agents writes anything.
      await Promise.all([...ending].filter(([, id]) => id === deploymentId).map(([work]) => work));
    },
    /** How many agents serve, and how many are being restarted after they ended by themselves. */
    count: (): { readonly running: number; readonly starting: number } => {
      const running = [...posts.values()].filter(({ agent }) => agent !== undefined).length;
      return { running, starting: posts.size - running };
    },
    /** Drains all agents. */
    close: async (): Promise<void> => {
      const left = [...posts.values()];
      posts.clear();
      // The listener has stopped: an agent finishes its open requests while it drains.
      await Promise.all(left.map((post) => drain(post, Promise.resolve(), options.closeTimeoutMs)));
      await Promise.all(ending.keys());
    },
  };
}

function idsOf(spec: AgentSpec): { deployment: string; revision: string } {
  return { deployment: spec.deploymentId, revision: spec.revisionId };
}

/** A function, because TypeScript would narrow `signal.aborted` to its earlier value. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** Waits; false if the signal was aborted. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

/** An agent that ran this long counts as having started well, in milliseconds. */
const LIVED_WELL_MS = 60_000;

/**
 * The delay before an agent that ended by itself is restarted, in milliseconds: 0 the first time, then 0.5 s,
 * doubling up to 30 s.
 * @param failures How often in a row it ended before {@link LIVED_WELL_MS} or did not start; from 0.
 */
export function restartDelay(failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(500 * 2 ** (failures - 1), 30_000);
}
