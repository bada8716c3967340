import { randomUUID } from 'node:crypto';

import { inject } from 'vitest';

import type { PlaceRules } from '../../src/domain/promotion/places.ts';
import { type Harness, openHarness } from './harness.ts';

interface OpenedHarness {
  readonly harness: Harness;
  readonly taskQueue: string;
}

/**
 * Starts the workers of the project (`workerMode` in `vitest.config.ts`) on a task queue of their own.
 * @param places - how many promotions run at once. Default: all.
 */
export function openProjectHarness(places?: PlaceRules): Promise<OpenedHarness> {
  return openOwnHarness({ places, ...inject('workerMode') });
}

/** Starts a worker of its own mode on a task queue of its own. */
export async function openOwnHarness(
  mode: Partial<Parameters<typeof openHarness>[0]> = {},
): Promise<OpenedHarness> {
  const id = randomUUID();
  const options = {
    address: inject('temporalAddress'),
    workflowBundle: inject('workflowBundle'),
    taskQueue: `queue-${id}`,
    nameWorld: (number: number) => `world-${id}-${number}`,
    ...mode,
  };
  return { harness: await openHarness(options), taskQueue: options.taskQueue };
}
