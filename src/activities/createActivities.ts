import { openArtifactStore } from '../artifact/artifactStore.ts';
import type { PlaceRules } from '../domain/promotion/places.ts';
import type { TargetSpec } from '../domain/targetSpec.ts';
import type { Activities } from './activities.ts';
import { checkActivities } from './checkActivities.ts';
import { Connections } from './connections.ts';
import { deploymentActivities } from './deploymentActivities.ts';
import { freezeActivities } from './freezeActivities.ts';
import { judgeActivities } from './judgeActivities.ts';
import { lineActivities } from './lineActivities.ts';
import { lockActivities } from './lockActivities.ts';
import { noticeActivities } from './noticeActivities.ts';
import { placesOf } from './places.ts';
import { pollActivities } from './pollActivities.ts';
import { pollsUntilShutdown } from './polling.ts';
import { promotionRecordActivities } from './promotionRecordActivities.ts';
import { recordActivities } from './recordActivities.ts';
import { recoveryActivities } from './recoveryActivities.ts';
import { track } from './track.ts';
import { uploadActivities } from './uploadActivities.ts';
import { watchActivities } from './watchActivities.ts';

/** Activities, and the connections that they hold. */
export interface OpenActivities {
  readonly activities: Activities;
  /** To be called when the worker has ended. */
  close(): Promise<void>;
}

/**
 * The worker's activities, with connections of their own, to be closed when the worker has ended.
 *
 * @param shuttingDown - aborted when the worker is asked to end: polls then hand themselves back at once.
 * @param rules - how many promotions work at once.
 * @param taskQueue - the workflows'.
 */
export function createActivities(
  shuttingDown: AbortSignal,
  rules: PlaceRules,
  taskQueue: string,
): OpenActivities {
  const connections = new Connections();
  const deployments = deploymentActivities(connections);
  const checks = checkActivities(connections);
  const place = placesOf(rules, taskQueue);
  const pollUntil = pollsUntilShutdown(shuttingDown);
  const findDeployment = async (target: TargetSpec) =>
    (await deployments.findDeployment({ target })).deployment;
  const activities = track({
    ...deployments,
    ...uploadActivities(connections),
    ...pollActivities(connections, pollUntil),
    ...checks,
    ...judgeActivities(connections, place),
    ...watchActivities({ ...deployments, ...checks }),
    ...lineActivities(findDeployment, pollUntil, place),
    ...lockActivities(),
    ...recoveryActivities(openArtifactStore, pollUntil),
    ...promotionRecordActivities(),
    ...freezeActivities(),
    ...recordActivities(),
    ...noticeActivities(connections),
  });
  return { activities, close: () => connections.close() };
}
