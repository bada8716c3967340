import { proxySinks } from '@temporalio/workflow';

import { restoreSpanOf } from '../domain/delivery/restoreSpan.ts';
import type { Measure } from '../domain/metrics/metrics.ts';
import type { Outcome } from '../domain/release/outcome.ts';
import type { Progress } from '../domain/release/release.ts';
import { splitTime } from '../domain/release/timeSplit.ts';
import type { MeasureSinks } from '../messages/measureSinks.ts';

const { slipwayMetrics } = proxySinks<MeasureSinks>();

/** Records a metric, without a command or event, and not in a replay. A killed worker's value may be lost or double. */
export const measure: Measure = (name, value, labels) => slipwayMetrics.measure(name, value, labels);

/** Records the metrics of a release, a rollback or a promotion that ends now. */
export function measureEnd(ended: Progress & { readonly outcome: Outcome }): void {
  const { kind, outcome, startedAt } = ended;
  const now = Date.now();
  measure('slipway_release_duration_seconds', (now - Date.parse(startedAt)) / 1_000, { kind, outcome });
  const { controlPlane, machine, soak, people, freezes } = splitTime(ended, now);
  const parts = { control_plane: controlPlane, machine, soak, people, freeze: freezes };
  for (const [spent, ms] of Object.entries(parts))
    measure('slipway_release_time_seconds', ms / 1_000, { kind, spent });
  const restore = kind === 'promotion' ? undefined : restoreSpanOf({ ...ended, kind });
  if (restore === undefined) return;
  const restoreMs = Date.parse(restore.servedAt) - Date.parse(restore.since);
  measure('slipway_restore_duration_seconds', restoreMs / 1_000, { kind });
}
