import { proxySinks } from '@temporalio/workflow';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';

const { slipwayMetrics } = proxySinks<MeasureSinks>();

/**
 * Measures from a workflow. It leaves no command and no event, and the worker drops it while it rebuilds the workflow
 * (`measureSinks`). A worker that is killed in the middle of a task may measure the same thing once more, or not at all.
 */
export const measure: Measure = (name, value, labels) => slipwayMetrics.measure(name, value, labels);
