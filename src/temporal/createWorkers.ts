import { type InjectedSinks, Worker, type WorkerOptions } from '@temporalio/worker';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';
import { activityQueues } from '../domain/taskQueues.ts';

/**
 * Disables the SDK's interruption of workflow code after 5 s of wall-clock time (an undocumented option). The limit
 * would also apply while the process is suspended: SIGSTOP, Ctrl-Z, a machine that sleeps or is overloaded. Callbacks
 * of an interrupted workflow then run in the next workflow of the same V8 context and issue their commands there.
 * Without a next workflow, they end the worker's thread. Code that continues late is harmless, because Temporal has
 * given its task to another worker. The value is the highest possible.
 */
const NEVER_INTERRUPT = { isolateExecutionTimeout: 4_294_967_295 };

/** The sinks with which workflows record metrics. */
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
    workers.push(await Worker.create({ ...options, ...NEVER_INTERRUPT, sinks: measureSinks(measure) }));
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
