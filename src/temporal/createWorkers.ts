import { Worker, type WorkerOptions } from '@temporalio/worker';

import { pollQueues } from '../domain/taskQueues.ts';

/**
 * The SDK interrupts workflow code after 5 s of the clock (an option that it does not document). That also happens where
 * the process stands still: SIGSTOP, Ctrl-Z, a machine that sleeps or is too busy. The
 * callbacks left in the interrupted workflow then run inside the next workflow of the same V8 context and issue their
 * commands there; or inside none, which ends the worker's thread. Code that goes on later does no harm: Temporal has given its task to another worker. This is the longest
 * time that can be set.
 */
const NEVER_INTERRUPT = { isolateExecutionTimeout: 4_294_967_295 };

/**
 * Creates the worker of a task queue, and one beside it for each queue of activities that wait.
 *
 * @param options - of the first; the others take no workflows.
 */
export function createWorkers(options: WorkerOptions): Promise<readonly Worker[]> {
  const { workflowBundle: _, ...activitiesAlone } = options;
  return Promise.all([
    Worker.create({ ...options, ...NEVER_INTERRUPT }),
    ...pollQueues(options.taskQueue).map((taskQueue) => Worker.create({ ...activitiesAlone, taskQueue })),
  ]);
}
