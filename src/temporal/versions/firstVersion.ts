import { activityQueues } from '../../domain/taskQueues.ts';
import type { TemporalConnection } from '../client/connection.ts';
import { describeRouting, queuesOf, routeTo } from './deploymentVersions.ts';

/** The result of {@link makeFirstCurrent}. `current`: this version is current by now; `waits`: another one is. */
export type FirstVersion = 'made_current' | 'current' | 'waits';

/** Temporal knows a version only a moment after its worker has begun to poll. */
const LOOK_AGAIN_MS = 250;

/**
 * Makes a version current if none ever was, so that the first versioned workers of a task queue need no rollout.
 * Waits until Temporal knows all of the version's task queues, because work for an unknown one would find no worker.
 */
export async function makeFirstCurrent(
  temporal: TemporalConnection,
  buildId: string,
  signal: AbortSignal,
): Promise<FirstVersion | undefined> {
  const { taskQueue } = temporal.settings;
  const needed = [taskQueue, ...activityQueues(taskQueue)];
  while (!signal.aborted) {
    const routing = await describeRouting(temporal);
    if (routing?.wasEverCurrent === true) return routing.current === buildId ? 'current' : 'waits';
    const known = routing === undefined ? [] : await queuesOf(temporal, buildId);
    if (routing !== undefined && needed.every((queue) => known.includes(queue))) {
      try {
        await routeTo(temporal, routing, buildId);
        return 'made_current';
      } catch (error) {
        // Another worker was faster: the next read shows it.
        if ((await describeRouting(temporal))?.wasEverCurrent !== true) throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS));
  }
  return undefined;
}
