import { Worker, type WorkerOptions } from '@temporalio/worker';

import { pollQueues } from '../domain/taskQueues.ts';

/**
 * The SDK breaks off workflow code after 5 s of the clock (an option that it does not document). That also happens where
 * the process stands still: SIGSTOP, Ctrl-Z, a machine that sleeps or is too busy. What waits to be run next in the
 * interrupted workflow then runs in the next one that shares its context, and commands there; or in none, which ends the
 * worker's thread. Code that goes on later does no harm: Temporal has given its task to another worker. This is the longest
 * time that can be set.
 */
const NEVER_BREAK_OFF = { isolateExecutionTimeout: 4_294_967_295 };

/**
 * Creates the worker of a task queue, and one beside it for each queue of activities that wait.
 *
 * @param options - of the first; the others take no workflows.
 */
export function createWorkers(options: WorkerOptions): Promise<readonly Worker[]> {
  const { workflowBundle: _, ...activitiesAlone } = options;
  return Promise.all([
    Worker.create({ ...options, ...NEVER_BREAK_OFF }),
    ...pollQueues(options.taskQueue).map((taskQueue) => Worker.create({ ...activitiesAlone, taskQueue })),
  ]);
}
