import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { WorkerDeploymentVersion } from '@temporalio/common';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';

import { createActivities, type OpenActivities } from './activities/createActivities.ts';
import { observedActivity } from './activities/observedActivity.ts';
import type { Measure } from './domain/metrics/metrics.ts';
import { PLACE_RULES, type PlaceRules } from './domain/promotion/places.ts';
import { observersOf } from './metrics/meter.ts';
import { askAgain } from './temporal/client/askAgain.ts';
import { type PayloadCipher, workerCodec } from './temporal/codec/payloadCipher.ts';
import { createWorkers } from './temporal/createWorkers.ts';

export interface RunWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  /** The worker's identity. It must be unique, because it distinguishes a killed worker from running ones. */
  readonly identity: string;
  /** Shuts the worker down: it accepts no more tasks, and running activities get {@link SHUTDOWN_GRACE} to finish. */
  readonly signal?: AbortSignal;
  readonly onReady?: () => void;
  /** How many promotions work at once. Default: {@link PLACE_RULES}. */
  readonly places?: PlaceRules;
  /** The page's address, `https://HOST`, for links in notices. Default: no links. */
  readonly dashboard?: string;
  /**
   * The services that the workflows use. Default: control planes, agents and the artifact store.
   * @param shuttingDown - aborted when the worker is asked to end.
   */
  readonly outside?: (shuttingDown: AbortSignal) => OpenActivities;
  /** Records Slipway's own metrics, in addition to the SDK's. Default: none are recorded. */
  readonly measure?: Measure;
  /** How many activities each task queue runs at once, for tests and benchmarks. Default: 500. */
  readonly slots?: number;
  /** Encrypts payloads. Default: no encryption; then encrypted payloads are rejected. */
  readonly codec?: PayloadCipher;
  /** The path of the prebuilt workflow bundle. Default: {@link BUNDLE_PATH}. */
  readonly bundlePath?: string;
  /** The version by which Temporal routes work to it (Worker Versioning). Default: not versioned. */
  readonly version?: WorkerDeploymentVersion;
}

/** The workflow bundle beside the built code, of the same version of the SDK. */
export const BUNDLE_PATH = fileURLToPath(new URL('./workflow-bundle.cjs', import.meta.url));

/** How long running activities get after a shutdown request: calls that change a deployment end within 20 s. */
const SHUTDOWN_GRACE = '25 seconds';

/** The worker's settings. The SDK's defaults suit tests: no grace period, 40 workflow tasks, 100 activities. */
const SETTINGS = {
  shutdownGraceTime: SHUTDOWN_GRACE,
  shutdownForceTime: '40 seconds',
  // For each task queue. A release polls for 10 s, then its control plane's poller waits for it.
  maxConcurrentActivityTaskExecutions: 500,
  // If a worker takes more tasks than it can run, they time out, and so do their local activities. On a busy machine, each
  // of 200 releases at once took 9.5 tasks and 6 activities (1.9 releases/s); with 100 instead of 20, 13.9 and 10.6 (1.1/s).
  maxConcurrentWorkflowTaskExecutions: 20,
  // Reads, each limited to a second (`workflows/localFirst.ts`).
  maxConcurrentLocalActivityExecutions: 200,
  // Each takes about 0.9 MB (measured with 1,000 waiting releases: 1,285 MB with all of them cached, 636 MB with this
  // limit, and nothing slower). A replay costs half a millisecond for each event.
  maxCachedWorkflows: 250,
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 4, maximum: 20 },
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 4, maximum: 20 },
  // How long a workflow task waits for the worker that has the workflow in its cache. If that was killed, the next worker
  // of its home ends the wait (`takeOver.ts`), or the server 10 s after the kill. A shorter wait costs a busy worker its
  // cache: with 1 s, 200 releases at once were accepted within 9.3 s (p95), with 5 s within 2.6 s.
  stickyQueueScheduleToStartTimeout: '5 seconds',
  maxHeartbeatThrottleInterval: '10 seconds',
  defaultHeartbeatThrottleInterval: '5 seconds',
} as const satisfies Partial<WorkerOptions>;

/**
 * Runs a worker until it is asked to end.
 * @throws if the bundle is missing, Temporal cannot be reached, or the worker fails.
 */
export async function runWorker(options: RunWorkerOptions): Promise<void> {
  const { connection, namespace, taskQueue, identity, signal, onReady, measure } = options;
  const shuttingDown = new AbortController();
  const rules = options.places ?? PLACE_RULES;
  const observers = measure === undefined ? {} : observersOf(measure);
  const open =
    options.outside ??
    ((ending: AbortSignal) =>
      createActivities(ending, rules, taskQueue, options.dashboard ?? null, observers));
  const outside = open(shuttingDown.signal);
  const workerOptions = {
    ...SETTINGS,
    maxConcurrentActivityTaskExecutions: options.slots ?? SETTINGS.maxConcurrentActivityTaskExecutions,
    connection,
    namespace,
    taskQueue,
    identity,
    dataConverter: workerCodec(options.codec),
    workflowBundle: await workflowBundle(options),
    activities: outside.activities,
    workerDeploymentOptions: options.version && deploymentOptions(options.version),
    interceptors: {
      client: { workflow: [askAgain(connection.workflowService, namespace)] },
      activity: [observedActivity],
    },
  };
  const workers = await createWorkers(workerOptions, measure);
  const shutDown = (): void => {
    shuttingDown.abort();
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const running = workers.map((worker) => worker.run());
  if (signal?.aborted === true) shutDown();
  signal?.addEventListener('abort', shutDown, { once: true });
  onReady?.();
  try {
    await Promise.all(running);
  } finally {
    signal?.removeEventListener('abort', shutDown);
    // A worker that fails ends the others.
    shutDown();
    await Promise.allSettled(running);
    await outside.close();
  }
}

/** All workers share one bundle. One that encrypts or has a version sets a global before its first line. */
async function workflowBundle({
  bundlePath = BUNDLE_PATH,
  codec,
  version,
}: RunWorkerOptions): Promise<WorkerOptions['workflowBundle']> {
  const switches = [
    ...(codec === undefined ? [] : ['slipwayEncodesFailures']),
    ...(version === undefined ? [] : ['slipwayIsVersioned']),
  ];
  if (switches.length === 0) return { codePath: bundlePath };
  const lines = switches.map((name) => `globalThis.${name} = true;\n`);
  return { code: [...lines, await readFile(bundlePath, 'utf8')].join('') };
}

/** Releases and rollbacks are pinned. Other workflows may last for weeks, and change versions. */
function deploymentOptions(version: WorkerDeploymentVersion): WorkerOptions['workerDeploymentOptions'] {
  return { version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' };
}
