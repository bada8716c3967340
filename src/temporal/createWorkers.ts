import { type InjectedSinks, Worker, type WorkerOptions } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';
import { activityQueues } from '../domain/taskQueues.ts';

/**
 * A worker that runs workflow code in the process's main thread, without a time limit and without the SDK's tracking of
 * promises.
 *
 * - The main thread: the SDK's thread for workflows cost a release 10 ms of CPU time for messages between the threads,
 *   and each step two more handovers. If workflow code hangs, heartbeats stop too, and another worker takes the activities.
 * - No limit: the SDK interrupts workflow code after 5 s of wall-clock time, which it cannot disable. The limit would
 *   also apply while the process is suspended: SIGSTOP, Ctrl-Z, a machine that sleeps or is overloaded. Callbacks of an
 *   interrupted workflow then run in the next workflow of the same V8 context and issue their commands there. Code that
 *   continues late is harmless, because Temporal has given its task to another worker. With a limit, Node would also
 *   start a thread for each of about 90 calls into a workflow in a release.
 * - No tracking: for the query `__stack_trace` the SDK compiles two functions for each promise, of all code in the
 *   process. Slipway's own queries show what a workflow waits for.
 */
export class UninterruptedWorker extends Worker {
  protected static override async createWorkflowCreator(
    ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
  ): ReturnType<typeof Worker.createWorkflowCreator> {
    const isolateExecutionTimeoutMs = undefined as unknown as number;
    const inMainThread = { ...options, isolateExecutionTimeoutMs, debugMode: true };
    const creator = await super.createWorkflowCreator(bundle, inMainThread, logger);
    globalHandlers.uninstall();
    globalHandlers.promiseHookInstalled = false;
    return creator;
  }
}

export function measureSinks(measure: Measure = () => undefined): InjectedSinks<MeasureSinks> {
  return {
    slipwayMetrics: {
      measure: { fn: (_, name, value, labels) => measure(name, value, labels), callDuringReplay: false },
    },
  };
}

/**
 * Creates the worker of a task queue, and one worker for each queue of waiting activities.
 * @param options - of the first worker; the others run no workflows.
 * @param measure - records the workflows' metrics. Default: none are recorded.
 * @throws the SDK's error, for example for workflow code that it cannot load. It leaves no worker, because a worker keeps
 * its connection open and the process alive.
 */
export async function createWorkers(options: WorkerOptions, measure?: Measure): Promise<readonly Worker[]> {
  const { workflowBundle: _, ...activitiesAlone } = options;
  const workers: Worker[] = [];
  try {
    workers.push(await UninterruptedWorker.create({ ...options, sinks: measureSinks(measure) }));
    for (const taskQueue of activityQueues(options.taskQueue)) {
      workers.push(await Worker.create({ ...activitiesAlone, taskQueue }));
    }
    return workers;
  } catch (error) {
    // A worker ends only once it has run.
    await Promise.allSettled(workers.map((worker) => worker.runUntil(Promise.resolve())));
    throw error;
  }
}
