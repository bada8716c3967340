import { X509Certificate } from 'node:crypto';

import type { Endpoint } from '@slipway/contract/endpoint';
import type { MetricCounter, MetricGauge, MetricHistogram, MetricMeter } from '@temporalio/common';

import type { Observers } from '../activities/createActivities.ts';
import {
  boundLabels,
  type Measure,
  type Metric,
  type MetricName,
  METRICS,
  statusLabel,
} from '../domain/metrics/metrics.ts';
import type { TemporalSettings } from '../temporal/client/temporalSettings.ts';

/** Records metrics with the meter of Temporal's SDK, which exports both. Label values: see {@link Metric.labels}. */
export function measureOn(meter: MetricMeter): Measure {
  const instruments = new Map<MetricName, Instrument>();
  const bounded = boundLabels();
  return (name, value, labels) => {
    const metric: Metric = METRICS[name];
    const record = instruments.get(name) ?? instrumentOf(meter, name, metric);
    instruments.set(name, record);
    record(value, bounded(metric.labels, labels));
  };
}

type Instrument = (value: number, labels: Record<string, string>) => void;

/** Names contain their units already, so that they are the same in Prometheus and OTLP. */
function instrumentOf(meter: MetricMeter, name: string, { kind, help }: Metric): Instrument {
  switch (kind) {
    case 'counter': {
      const counter: MetricCounter = meter.createCounter(name, '', help);
      return (value, labels) => counter.add(value, labels);
    }
    case 'histogram': {
      const histogram: MetricHistogram = meter.createHistogram(name, 'float', '', help);
      return (value, labels) => histogram.record(value, labels);
    }
    case 'gauge': {
      const gauge: MetricGauge = meter.createGauge(name, 'float', '', help);
      return (value, labels) => gauge.set(value, labels);
    }
  }
}

export const BUCKETS: Readonly<Record<string, number[]>> = Object.fromEntries(
  Object.entries<Metric>(METRICS).flatMap(([name, { buckets }]) =>
    buckets === undefined ? [] : [[name, [...buckets]]],
  ),
);

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

/** Records when the credentials for Temporal expire, if they contain that. */
export function measureExpiry(measure: Measure, { connectionOptions }: TemporalSettings): void {
  const { tls, apiKey } = connectionOptions;
  const certificate = typeof tls === 'object' ? tls?.clientCertPair?.crt : undefined;
  const certificateExpires = certificate === undefined ? undefined : certificateExpiry(certificate);
  if (certificateExpires !== undefined)
    measure('slipway_temporal_certificate_expiry_timestamp_seconds', certificateExpires, {});
  const keyExpires = typeof apiKey === 'string' ? tokenExpiry(apiKey) : undefined;
  if (keyExpires !== undefined) measure('slipway_temporal_api_key_expiry_timestamp_seconds', keyExpires, {});
}

/** In seconds since 1970; `undefined` if it is no certificate, which the connection then reports. */
export function certificateExpiry(pem: Uint8Array): number | undefined {
  try {
    return Date.parse(new X509Certificate(pem).validTo) / 1_000;
  } catch {
    return undefined;
  }
}

/** The `exp` of a JWT, such as a key of Temporal Cloud; `undefined` if the key has none. */
export function tokenExpiry(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const { exp } = claims as { readonly exp?: unknown };
    return typeof exp === 'number' ? exp : undefined;
  } catch {
    return undefined;
  }
}
