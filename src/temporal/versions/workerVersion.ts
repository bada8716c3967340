import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import type { WorkerDeploymentVersion } from '@temporalio/common';

import { SlipwayError } from '../../domain/errors.ts';

/** Enough of a SHA-256 to distinguish the bundles of one deployment, and short enough to type. */
const BUILD_ID_DIGITS = 12;

/**
 * The version of a worker. Its deployment is named after the task queue, and its build id is the digest of the
 * workflow bundle. Workers with the same workflow code have the same version, even if they differ otherwise.
 * @throws SlipwayError SLIPWAY_USAGE if the task queue's name is no valid deployment name.
 */
export async function workerVersion(taskQueue: string, bundlePath: string): Promise<WorkerDeploymentVersion> {
  const digest = createHash('sha256').update(await readFile(bundlePath));
  return {
    deploymentName: deploymentName(taskQueue),
    buildId: digest.digest('hex').slice(0, BUILD_ID_DIGITS),
  };
}

/**
 * The worker deployment of a task queue.
 * @throws SlipwayError SLIPWAY_USAGE if the task queue's name is no valid deployment name.
 */
export function deploymentName(taskQueue: string): string {
  // Temporal separates the name from the build id with these characters.
  if (!/[.:]/.test(taskQueue)) return taskQueue;
  throw new SlipwayError('SLIPWAY_USAGE', `the task queue "${taskQueue}" cannot be versioned`, {
    place: 'SLIPWAY_TASK_QUEUE',
    hint: 'choose a name without "." and ":", or run the workers without SLIPWAY_WORKER_VERSIONING',
  });
}

/**
 * Whether workers are versioned (`SLIPWAY_WORKER_VERSIONING`). Default: they are not.
 * @throws SlipwayError SLIPWAY_USAGE if the variable is not 0 or 1.
 */
export function isVersioned(environment: Readonly<Record<string, string | undefined>>): boolean {
  const { SLIPWAY_WORKER_VERSIONING: versioning = '' } = environment;
  if (versioning === '' || versioning === '0') return false;
  if (versioning === '1') return true;
  throw new SlipwayError('SLIPWAY_USAGE', 'SLIPWAY_WORKER_VERSIONING is not valid', {
    place: 'SLIPWAY_WORKER_VERSIONING',
    hint: 'expected 1 (versioned) or 0',
  });
}
