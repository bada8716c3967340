/**
 * The task queue of the activities that wait (polls, checks, soaks, judgements). They have slots of their own, so that
 * they never delay a call that changes a deployment (design, rule 11). Those of a restore never share slots with those
 * of releases.
 *
 * @param taskQueue - the workflows' task queue.
 */
export function pollQueue(taskQueue: string, restoring: boolean): string {
  return `${taskQueue}-${restoring ? 'restore-polls' : 'polls'}`;
}

/** The task queues of the activities that wait. */
export function pollQueues(taskQueue: string): readonly string[] {
  return [pollQueue(taskQueue, false), pollQueue(taskQueue, true)];
}
