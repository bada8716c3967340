import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, inject } from 'vitest';

import { type Harness, openHarness } from './harness.ts';

/**
 * Starts workers for the tests of a `describe`. What it returns stands for the harness while the tests are defined, before
 * it is opened.
 * @param mode - default: that of the project (`workerMode` in `vitest.config.ts`).
 */
export function useHarness(mode: Mode = inject('workerMode')): Harness {
  let opened: Harness | undefined;
  beforeAll(async () => {
    opened = (await openOwnHarness(mode)).harness;
  });
  afterAll(() => opened?.close());
  return new Proxy({} as Harness, {
    get(_, name) {
      if (opened === undefined) throw new Error('the harness is used before the tests run');
      return Reflect.get(opened, name) as unknown;
    },
  });
}

type Mode = Partial<Parameters<typeof openHarness>[0]>;

interface OpenedHarness {
  readonly harness: Harness;
  readonly taskQueue: string;
}

/** Starts a worker of its own mode on a task queue of its own. */
export async function openOwnHarness(mode: Mode = {}): Promise<OpenedHarness> {
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
