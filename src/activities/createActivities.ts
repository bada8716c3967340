import { type Activities } from './activities.ts';
import { checkActivities } from './checkActivities.ts';
import { Connections } from './connections.ts';
import { deploymentActivities } from './deploymentActivities.ts';
import { pollActivities } from './pollActivities.ts';
import { pollsUntilShutdown } from './polling.ts';
import { recordActivities } from './recordActivities.ts';
import { track } from './track.ts';
import { uploadActivities } from './uploadActivities.ts';

/**
 * The worker's activities, with connections of their own, to be closed when the worker has ended.
 *
 * @param shuttingDown - aborted when the worker is asked to end: polls then hand themselves back at once.
 */
export function createActivities(shuttingDown: AbortSignal): {
  readonly activities: Activities;
  close(): Promise<void>;
} {
  const connections = new Connections();
  const activities = track({
    ...deploymentActivities(connections),
    ...uploadActivities(connections),
    ...pollActivities(connections, pollsUntilShutdown(shuttingDown)),
    ...checkActivities(connections),
    ...recordActivities(),
  });
  return { activities, close: () => connections.close() };
}
