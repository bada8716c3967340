import { Worker, type WorkerOptions } from '@temporalio/worker';

import { pollQueues } from '../domain/taskQueues.ts';

/**
 * Creates the worker of a task queue, and one beside it for each queue of activities that wait.
 *
 * @param options - of the first; the others take no workflows.
 */
export function createWorkers(options: WorkerOptions): Promise<readonly Worker[]> {
  const { workflowBundle: _, ...activitiesAlone } = options;
  return Promise.all([
    Worker.create(options),
    ...pollQueues(options.taskQueue).map((taskQueue) => Worker.create({ ...activitiesAlone, taskQueue })),
  ]);
}
