import type { RequestListener } from 'node:http';

import type { Histogram } from '@opentelemetry/api';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type { Endpoint } from '@slipway/contract/endpoint';
import { RUN_API_ENDPOINTS } from '@slipway/contract/runApi/endpoints';
import { type Kysely, sql } from 'kysely';

import { ACTIVE } from '../agentServer/store/agentDatabase.ts';
import type { ControlPlane } from '../controlPlane/controlPlane.ts';
import type { BuildRevision } from '../controlPlane/dependencies.ts';
import { UNSETTLED_STATUSES } from '../controlPlane/revisionStates.ts';
import type { AnsweredRequest } from '../http/answeredRequests.ts';
import { listen } from '../http/listen.ts';
import { tableExists } from '../store/migrate.ts';
import type { Schema } from '../store/schema.ts';
import { METHODS, PLATFORM_METRICS, type PlatformMetric, type Reading, type RecordTime } from './metrics.ts';

/** The metrics that the platform's parts report to. */
export type ServedMetrics = Awaited<ReturnType<typeof serveMetrics>>;

/**
 * Serves the platform's metrics on a separate listener, so that API keys do not grant access to them.
 * @throws PlatformError SLIPWAY_PORT_UNAVAILABLE.
 */
export async function serveMetrics(where: { readonly host: string; readonly port: number }) {
  const metrics = openMetrics();
  const { record } = metrics;
  const listening = await listen(metrics.listener, { ...where, option: '--metrics' });
  return {
    /** `http://host:port/metrics`. */
    url: `${listening.url}/metrics`,
    onQuery: (seconds: number, result: 'ok' | 'error'): void =>
      record('slipway_platform_database_query_duration_seconds', seconds, { result }),
    /** Records an answered request under its route's template. If no route answers, the last pattern is a middleware's. */
    onAnswered: ({ method, route, agentPath, status, seconds }: AnsweredRequest): void => {
      const template = agentPath === undefined ? route : agentRoute(method, agentPath);
      const labels = { method, route: template.endsWith('*') ? OTHER : template, status: String(status) };
      record('slipway_platform_http_request_duration_seconds', seconds, labels);
    },
    builds:
      (build: BuildRevision): BuildRevision =>
      async (options) => {
        const began = performance.now();
        let built: Awaited<ReturnType<BuildRevision>> | undefined;
        try {
          built = await build(options);
          return built;
        } finally {
          const seconds = (performance.now() - began) / 1_000;
          const result = options.signal.aborted ? 'canceled' : built?.ok === true ? 'built' : 'failed';
          record('slipway_platform_build_duration_seconds', seconds, { result });
        }
      },
    readFrom: async (from: Omit<Parameters<typeof createGaugeReader>[0], 'record'>): Promise<void> => {
      const read = createGaugeReader({ ...from, record });
      metrics.readFrom(read);
      // Starts counting ended runs.
      await read();
    },
    close: (): Promise<void> => listening.close(0),
  };
}

const OTHER = 'other';

const ROUTES = Object.values<Endpoint>(RUN_API_ENDPOINTS)
  .filter(({ service }) => service === 'runApi')
  // Fewer parameters first: `/threads/search` is no thread.
  .sort((one, other) => one.path.split('{').length - other.path.split('{').length)
  .map(({ method, path }) => ({
    method,
    route: `/agents/{deployment_id}${path}`,
    pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/gu, '[^/]+')}$`, 'u'),
  }));

/** The template of an agent's path; `other` if it is no path of the Run API. */
export function agentRoute(method: string, path: string): string {
  const asked = method === 'HEAD' ? 'GET' : method;
  if (!METHODS.some((known) => known === method)) return OTHER;
  return ROUTES.find((row) => row.method === asked && row.pattern.test(path))?.route ?? OTHER;
}

/** Reads the gauges. If it throws, they are left out. */
type ReadGauges = () => Promise<readonly Reading[]>;

/** Makes the platform's metrics with OpenTelemetry's SDK. A label value outside its metric's list becomes `other`. */
export function openMetrics() {
  let read: ReadGauges = () => Promise.resolve([]);
  let reading: ReturnType<ReadGauges> | undefined;
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
      // Concurrent scrapes share one reading, which counts the runs that have ended since the last one.
      reading ??= read().finally(() => (reading = undefined));
      for (const { name, value, labels = {} } of await reading) {
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

/** The most ended runs that one scrape counts. */
const ENDED_MAX = 100_000;

/**
 * Reads the gauges from the database and the fleet on a scrape. Ended runs are counted from the first scrape on, 2 s
 * after their end, when the transaction that wrote it has committed.
 */
function createGaugeReader(options: {
  readonly kysely: Kysely<Schema>;
  readonly record: RecordTime;
  readonly controlPlane: Pick<ControlPlane, 'agents' | 'buildQueue'>;
}): ReadGauges {
  const { kysely, record, controlPlane } = options;
  /** Until when ended runs have been counted, by the database's clock. */
  let countedUntil: string | undefined;

  const countEndedRuns = async (): Promise<void> => {
    const { rows: clock } = await sql<{ until: string }>`
      select (now() - interval '2 seconds')::text as until`.execute(kysely);
    const until = clock[0]?.until;
    // Runs that ended before the platform started are not counted.
    if (countedUntil !== undefined && until !== undefined) {
      const { rows } = await sql<{ status: string; seconds: number }>`
        select status, extract(epoch from updated_at - created_at)::float8 as seconds from slipway_agent.runs
        where updated_at > ${countedUntil}::timestamptz and updated_at <= ${until}::timestamptz
          and status <> all (${ACTIVE})
        limit ${ENDED_MAX}`.execute(kysely);
      for (const { status, seconds } of rows)
        record('slipway_platform_run_duration_seconds', Math.max(seconds, 0), { status });
    }
    countedUntil = until;
  };

  const readRuns = async (): Promise<readonly Reading[]> => {
    const none = ACTIVE.map((status): [string, number] => [status, 0]);
    const counts = new Map<string, number>(none);
    // The first agent creates the table.
    if (await tableExists(kysely, 'slipway_agent.runs')) {
      await countEndedRuns();
      const { rows } = await sql<{ status: string; count: string }>`
        select status, count(*) as count from slipway_agent.runs where status = any (${ACTIVE})
        group by status`.execute(kysely);
      for (const { status, count } of rows) counts.set(status, Number(count));
    } else countedUntil ??= '-infinity';
    return [...counts].map(([status, value]) => ({
      name: 'slipway_platform_runs' as const,
      value,
      labels: { status },
    }));
  };

  const readRevisions = async (): Promise<readonly Reading[]> => {
    const rows = await kysely
      .selectFrom('revisions')
      .select(({ fn }) => ['status', fn.countAll<string>().as('count')])
      .where('status', 'in', UNSETTLED_STATUSES)
      .groupBy('status')
      .execute();
    return UNSETTLED_STATUSES.map((status) => ({
      name: 'slipway_platform_revisions' as const,
      value: Number(rows.find((row) => row.status === status)?.count ?? 0),
      labels: { status },
    }));
  };

  const readKeys = async (): Promise<readonly Reading[]> => {
    const row = await kysely
      .selectFrom('api_keys')
      .select(({ fn }) => fn.min('expires_at').as('next'))
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', new Date())
      .executeTakeFirst();
    if (row?.next == null) return [];
    const value = new Date(row.next).getTime() / 1_000;
    return [{ name: 'slipway_platform_api_key_expiry_timestamp_seconds', value }];
  };

  return async () => {
    const { running, starting } = controlPlane.agents();
    const read = await Promise.all([readRevisions(), readRuns(), readKeys()]);
    return [
      { name: 'slipway_platform_builds_queued', value: controlPlane.buildQueue() },
      { name: 'slipway_platform_agents', value: running },
      { name: 'slipway_platform_agents_starting', value: starting },
      ...read.flat(),
    ];
  };
}
