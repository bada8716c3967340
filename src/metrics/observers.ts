import type { Observers } from '../activities/createActivities.ts';
import type { Endpoint } from '@slipway/contract/endpoint';
import { type Measure, statusLabel } from '../domain/metrics/metrics.ts';

/** Records the activities' calls to control planes and agents, and their polls. */
export function observersOf(measure: Measure): Observers {
  const inFlight = { control_plane: 0, agent: 0 };
  return {
    onPolled: (revisions) => measure('slipway_polled_revisions', revisions, {}),
    onCall: ({ service, method, route }) => {
      const label = SERVICE_LABELS[service];
      const count = (more: number): void =>
        measure('slipway_calls_in_flight', (inFlight[label] += more), { service: label });
      const began = performance.now();
      count(1);
      return (end) => {
        count(-1);
        const seconds = (performance.now() - began) / 1_000;
        const labels = { service: label, method, route, status: statusLabel(end) };
        measure('slipway_call_duration_seconds', seconds, labels);
      };
    },
  };
}

/** A tracing service is called through agents' pre-signed links. */
const SERVICE_LABELS = {
  controlPlane: 'control_plane',
  runApi: 'agent',
  tracing: 'agent',
} as const satisfies Record<Endpoint['service'], string>;
