import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import type { WorkerDeploymentVersion } from '@temporalio/common';
import type { NativeConnection, WorkerOptions } from '@temporalio/worker';

import { createActivities, type OpenActivities } from './activities/createActivities.ts';
import { observedActivity } from './activities/observedActivity.ts';
import type { Measure } from './domain/metrics/metrics.ts';
import { PLACE_RULES, type PlaceRules } from './domain/promotion/places.ts';
import { observersOf } from './metrics/observers.ts';
import { queryAgain } from './temporal/client/connection.ts';
import type { PayloadCipher } from './temporal/codec/payloadCipher.ts';
import { workerCodec } from './temporal/codec/workerCodec.ts';
import { createWorkers } from './temporal/createWorkers.ts';

/** How a worker is run. */
export interface RunWorkerOptions {
  readonly connection: NativeConnection;
  readonly namespace: string;
  readonly taskQueue: string;
  /** What it calls itself. No two workers may have the same: it distinguishes a killed one from those that live. */
  readonly identity: string;
  /** Ends the worker: it takes no more tasks, and what runs gets {@link SHUTDOWN_GRACE} to finish. */
  readonly signal?: AbortSignal;
  /** Called once the worker polls. */
  readonly onReady?: () => void;
  /** How many promotions work at once. Default: {@link PLACE_RULES}. */
  readonly places?: PlaceRules;
  /** The page's address, `https://HOST`, which notices link to. Default: they have no link. */
  readonly dashboard?: string;
  /**
   * What the workflows find outside of themselves. Default: control planes, agents and the artifact store.
   *
   * @param shuttingDown - aborted when the worker is asked to end.
   */
  readonly outside?: (shuttingDown: AbortSignal) => OpenActivities;
  /** What is measured in the worker, beside the SDK's own metrics. Default: nothing is. */
  readonly measure?: Measure;
  /** How many activities each task queue runs at once, for tests and benchmarks. Default: 500. */
  readonly slots?: number;
  /** What payloads are encrypted with. Default: nothing is, and what is encrypted is refused. */
  readonly codec?: PayloadCipher;
  /** Where the prebuilt workflow bundle is. Default: {@link BUNDLE_PATH}. */
  readonly bundlePath?: string;
  /** The version under which Temporal routes work to it (Worker Versioning). Default: it is not versioned. */
  readonly version?: WorkerDeploymentVersion;
}

/** The workflow bundle beside the built code. Workflow code is bundled when Slipway is built, by the same version of the SDK that runs it here. */
export const BUNDLE_PATH = fileURLToPath(new URL('./workflow-bundle.cjs', import.meta.url));

/**
 * How long running activities get after a shutdown is asked for. Calls that change a deployment end within 20 s; a
 * poll hands itself back at once, and a check that is cut off is run again, by another worker.
 */
const SHUTDOWN_GRACE = '25 seconds';

/**
 * What the worker is set to, and why. The SDK's defaults suit tests, not production: no grace at shutdown, 40 workflow
 * tasks, 100 activities, a fixed number of pollers.
 */
const SETTINGS = {
  shutdownGraceTime: SHUTDOWN_GRACE,
  shutdownForceTime: '40 seconds',
  // Of each task queue. A release polls for 10 s, then the poller of its control plane waits for it.
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentWorkflowTaskExecutions: 100,
  // Reads, each for a second at most (`workflows/localFirst.ts`).
  maxConcurrentLocalActivityExecutions: 200,
  // Each takes about 0.9 MB (measured with 1,000 releases that wait: 1,285 MB of them cached, 636 MB with this many, and
  // nothing slower). One that has to be rebuilt costs half a millisecond for each event.
  maxCachedWorkflows: 250,
  workflowTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 4, maximum: 20 },
  activityTaskPollerBehavior: { type: 'autoscaling', minimum: 2, initial: 4, maximum: 20 },
  // After a worker is killed its workflows wait this long before another worker takes them. The SDK's 10 s is a long
  // time for somebody who has just asked for a rollback.
  stickyQueueScheduleToStartTimeout: '1 second',
  maxHeartbeatThrottleInterval: '10 seconds',
  defaultHeartbeatThrottleInterval: '5 seconds',
} as const satisfies Partial<WorkerOptions>;

/**
 * Runs a worker until it is asked to end.
 *
 * @throws when the bundle is missing, Temporal cannot be reached, or the worker breaks.
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
    ...(options.version === undefined ? {} : { workerDeploymentOptions: deploymentOptions(options.version) }),
    interceptors: {
      client: { workflow: [queryAgain(connection.workflowService, namespace)] },
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
    // One that breaks ends the others.
    shutDown();
    await Promise.allSettled(running);
    await outside.close();
  }
}

/**
 * The bundle of the workflows is one for all workers. One that encrypts (`workflows/failureConverter.ts`), or has a version
 * (`workflows/index.ts`), says so before its first line.
 */
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

/** Releases and rollbacks are pinned (`workflows/index.ts`); all others, which may last for weeks, change versions. */
function deploymentOptions(version: WorkerDeploymentVersion): WorkerOptions['workerDeploymentOptions'] {
  return { version, useWorkerVersioning: true, defaultVersioningBehavior: 'AUTO_UPGRADE' };
}
