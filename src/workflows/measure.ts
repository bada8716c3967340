import { proxySinks, workflowInfo } from '@temporalio/workflow';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';

const { slipwayMetrics } = proxySinks<MeasureSinks>();

/**
 * Measures from a workflow. It leaves no command and no event, and does nothing while the workflow is rebuilt from its
 * history. A worker that is killed in the middle of a task may measure the same thing once more, or not at all.
 */
export const measure: Measure = (name, value, labels) => {
  if (!workflowInfo().unsafe.isReplaying) slipwayMetrics.measure(name, value, labels);
};
