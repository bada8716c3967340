import { openArtifactStore } from '../artifact/openArtifactStore.ts';
import type { PlaceRules } from '../domain/promotion/places.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';
import type { Activities } from './activities.ts';
import { checkActivities } from './check/checkActivities.ts';
import { Connections } from './connections.ts';
import { deploymentActivities, uploadActivities } from './deployment/deploymentActivities.ts';
import { lockActivities } from './deployment/lockActivities.ts';
import { pollActivities } from './deployment/pollActivities.ts';
import { revisionPollerActivities } from './deployment/revisionPoller.ts';
import { freezeActivities } from './freeze/freezeActivities.ts';
import { judgeActivities } from './judge/judgeActivities.ts';
import { noticeActivities } from './notify/noticeActivities.ts';
import { pausesUntil, pollsUntilShutdown } from './polling.ts';
import { lineActivities } from './promotion/lineActivities.ts';
import { placesOf } from './promotion/places.ts';
import { promotionRecordActivities } from './promotion/promotionRecordActivities.ts';
import { recordActivities } from './release/recordActivities.ts';
import { recoveryActivities } from './target/recoveryActivities.ts';
import { watchActivities } from './target/watchActivities.ts';
import { track } from './track.ts';

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
  const pause = pausesUntil(shuttingDown);
  const pollUntil = pollsUntilShutdown(shuttingDown, pause);
  const findDeployment = async (target: TargetSpec) =>
    (await deployments.findDeployment({ target })).deployment;
  const activities = track({
    ...deployments,
    ...uploadActivities(connections),
    ...pollActivities(connections, pollUntil, taskQueue),
    ...revisionPollerActivities(connections, pause, shuttingDown),
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
