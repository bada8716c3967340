import { proxySinks } from '@temporalio/workflow';

import type { Measure } from '../domain/metrics/metrics.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';

const { slipwayMetrics } = proxySinks<MeasureSinks>();

/** Records a metric, without a command or event, and not in a replay. A killed worker's value may be lost or double. */
export const measure: Measure = (name, value, labels) => slipwayMetrics.measure(name, value, labels);
