import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

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
  return { deploymentName: deploymentName(taskQueue), buildId: await buildIdOf(bundlePath) };
}

async function buildIdOf(bundlePath: string): Promise<string> {
  const digest = createHash('sha256').update(await readFile(bundlePath));
  return digest.digest('hex').slice(0, BUILD_ID_DIGITS);
}

/**
 * Requires that the workflow bundle is the one of its build, whose id is in `build.json` beside it.
 * @throws SlipwayError SLIPWAY_INSTALLATION_DAMAGED
 */
export async function requireWholeBundle(bundlePath: string): Promise<void> {
  const info = join(dirname(bundlePath), 'build.json');
  // The source code has none.
  if (!existsSync(info)) return;
  const { bundle } = JSON.parse(await readFile(info, 'utf8')) as { readonly bundle: string };
  if ((await buildIdOf(bundlePath)) === bundle) return;
  throw new SlipwayError('SLIPWAY_INSTALLATION_DAMAGED', 'the workflow code is not as it was built', {
    place: bundlePath,
    hint: 'install Slipway again; in its repository: npm ci && npm run build',
  });
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
