import type { RequestListener } from 'node:http';

import type { Histogram } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

import { PLATFORM_METRICS, type PlatformMetric, type Reading, type RecordTime } from './metrics.ts';

/** Reads the gauges. If it throws, they are left out. */
type ReadGauges = () => Promise<readonly Reading[]>;

/** Makes the platform's metrics with OpenTelemetry's SDK. A label value outside its metric's list becomes `other`. */
export function openMetrics() {
  let read: ReadGauges = () => Promise.resolve([]);
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('slipway');
  const bounded = createBounds();
  const histograms = new Map<string, Histogram>();
  const gauges = new Map<string, ReturnType<typeof meter.createObservableGauge>>();
  for (const [name, metric] of Object.entries<PlatformMetric>(PLATFORM_METRICS)) {
    const { kind, help: description, buckets = [] } = metric;
    if (kind === 'gauge') gauges.set(name, meter.createObservableGauge(name, { description }));
    else {
      const advice = { explicitBucketBoundaries: [...buckets] };
      histograms.set(name, meter.createHistogram(name, { description, advice }));
    }
  }
  meter.addBatchObservableCallback(
    async (result) => {
      for (const { name, value, labels = {} } of await read()) {
        const gauge = gauges.get(name);
        if (gauge !== undefined) result.observe(gauge, value, bounded(name, labels));
      }
    },
    [...gauges.values()],
  );
  const record: RecordTime = (name, seconds, labels) =>
    histograms.get(name)?.record(seconds, bounded(name, labels));
  /** Answers `GET /metrics` in Prometheus' text format. */
  const listener: RequestListener = (request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404, { 'content-type': 'text/plain' });
      response.end('Not Found\n');
      return;
    }
    exporter.getMetricsRequestHandler(request, response);
  };
  /** Sets how gauges are read on each scrape. Default: none. */
  const readFrom = (from: ReadGauges): void => {
    read = from;
  };
  return { record, listener, readFrom };
}

const OTHER = 'other';

/** Bounds the values of labels: those of a closed list, or the first so many. */
function createBounds() {
  const seen = new Map<string, Set<string>>();
  return (name: keyof typeof PLATFORM_METRICS, given: Readonly<Record<string, string>>) => {
    const { labels }: PlatformMetric = PLATFORM_METRICS[name];
    const entries = Object.entries(labels).map(([label, allowed]) => {
      const value = given[label] ?? '';
      if (typeof allowed !== 'number') return [label, allowed.includes(value) ? value : OTHER];
      const values = seen.get(label) ?? new Set<string>();
      seen.set(label, values);
      if (!values.has(value) && values.size >= allowed) return [label, OTHER];
      values.add(value);
      return [label, value];
    });
    return Object.fromEntries(entries) as Record<string, string>;
  };
}
