import { type Activities } from './activities.ts';
import { checkActivities } from './checkActivities.ts';
import { Connections } from './connections.ts';
import { deploymentActivities } from './deploymentActivities.ts';
import { pollActivities } from './pollActivities.ts';
import { recordActivities } from './recordActivities.ts';
import { track } from './track.ts';
import { uploadActivities } from './uploadActivities.ts';

/** The worker's activities, with connections of their own. */
export function createActivities(): Activities {
  const connections = new Connections();
  return track({
    ...deploymentActivities(connections),
    ...uploadActivities(connections),
    ...pollActivities(connections),
    ...checkActivities(connections),
    ...recordActivities(),
  });
}
