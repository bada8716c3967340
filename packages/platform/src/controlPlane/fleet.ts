import { setTimeout as sleep } from 'node:timers/promises';

import type { Logger } from 'pino';

import { HAND_OVER_MS } from '../draining.ts';
import type { RunningAgent } from '../runtime/agentStart.ts';
import type { StartLimits, Switchboard } from './dependencies.ts';

/**
 * How long an agent that was switched away from is left alone with its last requests, in milliseconds. Those that begin
 * something are over by then; those that follow a run are answered while it drains.
 */
const REQUESTS_MS = 5_000;

/** The agent of one revision, and how it is started: as a process, or as a container. */
export interface AgentSpec {
  readonly deploymentId: string;
  readonly revisionId: string;
  /** How long it goes on with its runs when it is drained, in milliseconds. Default: the fleet's `drainTimeoutMs`. */
  readonly drainMs?: number;
  /** Starts it anew and resolves once it answers; throws an error that says why it did not. */
  start(limits: StartLimits): Promise<RunningAgent>;
}

/** A switch that has been made and can still be taken back. */
interface Handover {
  /** The old agent is no longer needed: it is drained in the background. */
  finish(): void;
  /** Back to the old agent; the new one is ended. */
  undo(): void;
}

/** One deployment's agent and what keeps it alive. */
interface Post {
  readonly spec: AgentSpec;
  readonly leave: AbortController;
  agent: RunningAgent | undefined;
}

/** The agents that serve: one per deployment. */
export type Fleet = ReturnType<typeof createFleet>;

/** Makes a {@link Fleet} that has no agents yet. */
export function createFleet(options: {
  gateway: Switchboard;
  log: Logger;
  /** How long a start may take until the agent answers, in milliseconds. */
  readyTimeoutMs: number;
  /** How long runs may go on with an agent that was switched away from, in milliseconds. */
  drainTimeoutMs: number;
  /** How long agents may finish what they are at when the platform stops, in milliseconds. */
  closeTimeoutMs: number;
}) {
  const posts = new Map<string, Post>();
  /** What goes on behind the scenes, and for which deployment. */
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

  /** Waits for the agent's end, again and again, and starts it anew until somebody else has its place. */
  const keepAlive = async (post: Post): Promise<void> => {
    const { signal } = post.leave;
    let failures = 0;
    while (!signal.aborted) {
      if (post.agent !== undefined) {
        const since = performance.now();
        const exit = await Promise.race([post.agent.exited, aborted(signal)]);
        if (exit === undefined) return;
        post.agent = undefined;
        // Another agent has the place already: this one's end does not matter.
        if (posts.get(post.spec.deploymentId) !== post) return;
        failures = performance.now() - since >= LIVED_WELL_MS ? 0 : failures + 1;
        options.log.warn(
          { ...idsOf(post.spec), ...exit, failures },
          'an agent ended by itself; restarting it',
        );
      }
      options.gateway.register(post.spec.deploymentId, { starting: true });
      // The first end of all is answered at once; only a row of them is slowed down.
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
    /** Starts an agent beside the one that serves. Throws why it did not become ready; then nothing is left of it. */
    start,
    /** Sends the deployment's requests to an agent that is ready, and keeps it alive from now on. */
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
              // It ended meanwhile, or was being started again: what watched it ends, and somebody new takes over.
              before.leave.abort();
              take(before.spec, undefined);
            } else void switchTo(before.spec, before.agent);
          }
          agent.kill();
        },
      };
    },
    /** Brings back what served before the platform stopped; goes on trying until something else is handed over. */
    restore: (spec: AgentSpec): void => {
      if (!posts.has(spec.deploymentId)) take(spec, undefined);
    },
    /** Drains and forgets a deployment's agents; resolves when none of them runs any more. */
    remove: async (deploymentId: string): Promise<void> => {
      const post = posts.get(deploymentId);
      posts.delete(deploymentId);
      const requestsOver = options.gateway.remove(deploymentId);
      if (post !== undefined) await drain(post, requestsOver);
      // Older agents of it may still be draining, too: nothing of it writes any more once this is over.
      await Promise.all([...ending].filter(([, id]) => id === deploymentId).map(([work]) => work));
    },
    /** How many agents serve, and how many are being started again after they ended by themselves. */
    count: (): { readonly running: number; readonly starting: number } => {
      const running = [...posts.values()].filter(({ agent }) => agent !== undefined).length;
      return { running, starting: posts.size - running };
    },
    /** Drains everything. */
    close: async (): Promise<void> => {
      const left = [...posts.values()];
      posts.clear();
      // The listener has stopped: what is in flight ends with its agent, which finishes it while it drains.
      await Promise.all(left.map((post) => drain(post, Promise.resolve(), options.closeTimeoutMs)));
      await Promise.all(ending.keys());
    },
  };
}

function idsOf(spec: AgentSpec): { deployment: string; revision: string } {
  return { deployment: spec.deploymentId, revision: spec.revisionId };
}

/** Asked anew each time: what the type system remembers of a signal may be over. */
function isOver(signal: AbortSignal): boolean {
  return signal.aborted;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** Waits; false when it was called off. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

/** An agent that lived this long counts as having started well, in milliseconds. */
const LIVED_WELL_MS = 60_000;

/**
 * How long to wait before an agent that ended by itself is started again, in milliseconds: at once the first time,
 * then 0.5 s, doubling up to 30 s.
 * @param failures How often in a row it ended before {@link LIVED_WELL_MS}, or did not start at all; from 0.
 */
export function restartDelay(failures: number): number {
  if (failures <= 0) return 0;
  return Math.min(500 * 2 ** (failures - 1), 30_000);
}
