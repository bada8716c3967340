import type { IncomingMessage, ServerResponse } from 'node:http';

import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

import { boundLabels } from '../../domain/metrics/metrics.ts';
import type { LiveRooms } from '../live/liveRooms.ts';
import { PAGE_METRICS, type RecordOnPage } from './pageMetrics.ts';

export function openPageMetrics(rooms: Pick<LiveRooms, 'counts'>) {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const meter = new MeterProvider({ readers: [exporter] }).getMeter('slipway');
  const bounded = boundLabels();
  const {
    slipway_dashboard_open_pages: pages,
    slipway_dashboard_rooms: groups,
    slipway_dashboard_http_request_duration_seconds: requests,
    slipway_dashboard_actions: actions,
  } = PAGE_METRICS;
  meter
    .createObservableGauge('slipway_dashboard_open_pages', { description: pages.help })
    .addCallback((result) => result.observe(rooms.counts.pages));
  meter
    .createObservableGauge('slipway_dashboard_rooms', { description: groups.help })
    .addCallback((result) => result.observe(rooms.counts.rooms));
  const durations = meter.createHistogram('slipway_dashboard_http_request_duration_seconds', {
    description: requests.help,
    advice: { explicitBucketBoundaries: [...requests.buckets] },
  });
  const counter = meter.createCounter('slipway_dashboard_actions', { description: actions.help });
  const record: RecordOnPage = (name, value, labels) => {
    const allowed = bounded(PAGE_METRICS[name].labels, labels);
    if (name === 'slipway_dashboard_actions') counter.add(value, allowed);
    else durations.record(value, allowed);
  };
  return {
    record,
    /** Answers `GET /metrics` in Prometheus' text format. */
    listener: (request: IncomingMessage, response: ServerResponse) => {
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
        response.writeHead(404, { 'content-type': 'text/plain' });
        response.end('Not Found\n');
        return;
      }
      exporter.getMetricsRequestHandler(request, response);
    },
  };
}
