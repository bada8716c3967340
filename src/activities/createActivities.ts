import { openArtifactStore } from '../artifact/openArtifactStore.ts';
import type { OnCall } from '../clients/service.ts';
import type { PlaceRules } from '../domain/promotion/places.ts';
import type { Activities } from './activities.ts';
import { checkActivities } from './check/checkActivities.ts';
import { Connections, type Outside } from './connections.ts';
import { deploymentActivities, uploadActivities } from './deployment/deploymentActivities.ts';
import { lockActivities } from './deployment/lockActivities.ts';
import { pollActivities, type Poller } from './deployment/pollActivities.ts';
import { RequestRates } from './deployment/requestRates.ts';
import { revisionPollerActivities } from './deployment/revisionPoller.ts';
import { freezeActivities } from './freeze/freezeActivities.ts';
import { guardActivities } from './guard/guardActivities.ts';
import { hookActivities } from './hooks/hookActivities.ts';
import { identityActivities } from './identity/identityActivities.ts';
import { judgeActivities } from './judge/judgeActivities.ts';
import { noticeActivities } from './notify/noticeActivities.ts';
import { pausesUntil, type PollUntil, pollsUntilShutdown } from './polling.ts';
import { commentActivities, previewActivities } from './preview/previewActivities.ts';
import { promotionActivities } from './promotion/promotionActivities.ts';
import { placesOf } from './promotion/places.ts';
import { recordActivities } from './release/recordActivities.ts';
import { recoveryActivities } from './target/recoveryActivities.ts';
import { watchActivities } from './target/watchActivities.ts';
import type { Clock } from './temporalTime.ts';
import { track } from './track.ts';

export interface OpenActivities {
  readonly activities: Activities;
  /** Call it after the worker has ended. */
  close(): Promise<void>;
}

export interface Observers {
  readonly onCall?: OnCall;
  /** Called when the number of revisions that the worker polls changes. */
  readonly onPolled?: (revisions: number) => void;
}

/**
 * Creates the worker's activities with their own connections.
 * @param shuttingDown - aborted when the worker is asked to end: then polls end their attempt at once.
 * @param rules - how many promotions work at once.
 * @param taskQueue - the workflows' task queue.
 * @param dashboard - the page's address, for links in notices. Default: no links.
 */
export function createActivities(
  shuttingDown: AbortSignal,
  rules: PlaceRules,
  taskQueue: string,
  dashboard: string | null = null,
  observers: Observers = {},
): OpenActivities {
  const connections = new Connections(observers.onCall);
  const place = placesOf(rules, taskQueue);
  const pause = pausesUntil(shuttingDown);
  const pollUntil = pollsUntilShutdown(shuttingDown, pause);
  const rates = new RequestRates();
  const poller = { taskQueue, afterMs: POLLED_MS, rates };
  const releases = releaseActivities(connections, { pollUntil, poller });
  const activities = track({
    ...releases,
    ...revisionPollerActivities(connections, rates, pause, shuttingDown, observers.onPolled),
    ...judgeActivities(connections, place),
    ...promotionActivities(releases, pollUntil, place, openArtifactStore),
    ...lockActivities(),
    ...recoveryActivities(openArtifactStore, pollUntil),
    ...noticeActivities(connections, dashboard),
    ...commentActivities(connections),
    ...previewActivities(),
    ...identityActivities(connections),
    ...hookActivities(),
    ...guardActivities(connections),
  });
  return { activities, close: () => connections.close() };
}

/** How long a release polls by itself, in milliseconds. Many revisions are deployed within that time. */
const POLLED_MS = 10_000;

interface Waiting {
  readonly pollUntil: PollUntil;
  readonly poller?: Poller;
  /** Default: {@link temporalTime}. */
  readonly now?: Clock;
  /** How often to look for a late upload, in milliseconds. Default: 10 s. */
  readonly lookEveryMs?: number;
}

/** The activities that call control planes, agents and artifact stores. */
export function releaseActivities(outside: Outside, { pollUntil, poller, now, lookEveryMs }: Waiting) {
  const deployments = deploymentActivities(outside);
  const checks = checkActivities(outside, pollUntil);
  return {
    ...deployments,
    ...uploadActivities(outside),
    ...pollActivities(outside, pollUntil, now, poller),
    ...checks,
    ...watchActivities({ ...deployments, ...checks, now, lookEveryMs }),
    ...freezeActivities(),
    ...recordActivities(outside),
  };
}
