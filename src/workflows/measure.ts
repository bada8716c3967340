import { proxySinks } from '@temporalio/workflow';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';

const { slipwayMetrics } = proxySinks<MeasureSinks>();

/**
 * Records a metric from a workflow. It adds no command or event, and the worker drops it during a replay
 * (`measureSinks`). If a worker is killed during a task, the value may be recorded twice or not at all.
 */
export const measure: Measure = (name, value, labels) => slipwayMetrics.measure(name, value, labels);
