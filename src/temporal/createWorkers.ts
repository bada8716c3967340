import { type InjectedSinks, Worker, type WorkerOptions } from '@temporalio/worker';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';
import { pollQueues } from '../domain/taskQueues.ts';

/**
 * The SDK interrupts workflow code after 5 s of the clock (an option that it does not document). That also happens where
 * the process stands still: SIGSTOP, Ctrl-Z, a machine that sleeps or is too busy. The
 * callbacks left in the interrupted workflow then run inside the next workflow of the same V8 context and issue their
 * commands there; or inside none, which ends the worker's thread. Code that goes on later does no harm: Temporal has given its task to another worker. This is the longest
 * time that can be set.
 */
const NEVER_INTERRUPT = { isolateExecutionTimeout: 4_294_967_295 };

/** What workflows call to measure. */
export function measureSinks(measure: Measure = () => undefined): InjectedSinks<MeasureSinks> {
  return {
    slipwayMetrics: {
      measure: { fn: (_, name, value, labels) => measure(name, value, labels), callDuringReplay: false },
    },
  };
}

/**
 * Creates the worker of a task queue, and one beside it for each queue of activities that wait.
 *
 * @param options - of the first; the others take no workflows.
 * @param measure - what workflows measure. Default: nothing is.
 */
export function createWorkers(options: WorkerOptions, measure?: Measure): Promise<readonly Worker[]> {
  const { workflowBundle: _, ...activitiesAlone } = options;
  return Promise.all([
    Worker.create({ ...options, ...NEVER_INTERRUPT, sinks: measureSinks(measure) }),
    ...pollQueues(options.taskQueue).map((taskQueue) => Worker.create({ ...activitiesAlone, taskQueue })),
  ]);
}
