/**
 * The task queue of waiting activities (polls, checks, soaks, judgements). They have their own slots, so that they
 * never delay a call that changes a deployment (design, rule 11). Those of a restore do not share slots with those of
 * releases.
 *
 * @param taskQueue - the workflows' task queue.
 */
export function pollQueue(taskQueue: string, restoring: boolean): string {
  return `${taskQueue}-${restoring ? 'restore-polls' : 'polls'}`;
}

/** The task queue of guards: thousands may wait for slow metrics, in slots that polls and checks do not need. */
export function guardQueue(taskQueue: string): string {
  return `${taskQueue}-guards`;
}

/** The task queues of waiting activities that releases need. */
export function pollQueues(taskQueue: string): readonly string[] {
  return [pollQueue(taskQueue, false), pollQueue(taskQueue, true)];
}

/** All task queues of a worker, besides that of the workflows. */
export function activityQueues(taskQueue: string): readonly string[] {
  return [...pollQueues(taskQueue), guardQueue(taskQueue)];
}
