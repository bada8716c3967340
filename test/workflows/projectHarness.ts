import { randomUUID } from 'node:crypto';

import { inject } from 'vitest';

import type { PlaceRules } from '../../src/domain/promotion/places.ts';
import { type Harness, openHarness } from './harness.ts';

/**
 * Starts the workers of the project (`workerMode` in `vitest.config.ts`) on a task queue of their own.
 * @param places - how many promotions run at once. Default: all.
 */
export async function openProjectHarness(
  places?: PlaceRules,
): Promise<{ readonly harness: Harness; readonly taskQueue: string }> {
  const id = randomUUID();
  const taskQueue = `queue-${id}`;
  const harness = await openHarness({
    address: inject('temporalAddress'),
    workflowBundle: inject('workflowBundle'),
    taskQueue,
    nameWorld: (number) => `world-${id}-${number}`,
    places,
    ...inject('workerMode'),
  });
  return { harness, taskQueue };
}
