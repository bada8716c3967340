import type { Sinks } from '@temporalio/workflow';

import type { MetricName } from '../domain/metrics/metrics.ts';

/** The sinks with which workflows record metrics. Every worker must provide them (`createWorkers.ts`). */
export interface MeasureSinks extends Sinks {
  readonly slipwayMetrics: {
    measure(name: MetricName, value: number, labels: Readonly<Record<string, string>>): void;
  };
}
