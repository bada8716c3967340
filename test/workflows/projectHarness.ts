import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, inject } from 'vitest';

import type { PlaceRules } from '../../src/domain/promotion/places.ts';
import { type Harness, openHarness } from './harness.ts';

/**
 * Starts the workers of the project (`workerMode` in `vitest.config.ts`) for the tests of a `describe`. What it returns
 * stands for the harness while the tests are defined, before it is opened.
 * @param places - how many promotions run at once. Default: all.
 */
export function useHarness(places?: PlaceRules): Harness {
  let opened: Harness | undefined;
  beforeAll(async () => {
    opened = (await openOwnHarness({ places, ...inject('workerMode') })).harness;
  });
  afterAll(() => opened?.close());
  return new Proxy({} as Harness, {
    get(_, name) {
      if (opened === undefined) throw new Error('the harness is used before the tests run');
      return Reflect.get(opened, name) as unknown;
    },
  });
}

interface OpenedHarness {
  readonly harness: Harness;
  readonly taskQueue: string;
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
