import type { Sinks } from '@temporalio/workflow';

import type { MetricName } from '../domain/metrics/metrics.ts';

/** What workflows call in their worker to measure. Every worker must provide it (`createWorkers.ts`). */
export interface MeasureSinks extends Sinks {
  readonly slipwayMetrics: {
    measure(name: MetricName, value: number, labels: Readonly<Record<string, string>>): void;
  };
}
