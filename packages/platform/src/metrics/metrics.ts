import { REVISION_STATUSES } from '../controlPlane/revisionStates.ts';

export interface PlatformMetric {
  /** `histogram` counts values in buckets; `gauge` is read on each scrape. */
  readonly kind: 'histogram' | 'gauge';
  readonly help: string;
  /** Each label's values: a closed list, or how many distinct ones. Others become `other`. */
  readonly labels: Readonly<Record<string, readonly string[] | number>>;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

/** The methods with their own label value. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
const WORK_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
const QUERY_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5];
/** Routes come from fixed tables of endpoints, statuses from HTTP. */
const ROUTES_MAX = 150;
const STATUSES_MAX = 60;

/** Every metric of the platform. Labels never contain an id, an address or a third party's text. */
export const PLATFORM_METRICS = {
  slipway_platform_build_duration_seconds: {
    kind: 'histogram',
    help: 'Time that a build took.',
    labels: { result: ['built', 'failed', 'canceled'] },
    buckets: WORK_SECONDS,
  },
  slipway_platform_revisions: {
    kind: 'gauge',
    help: 'Revisions that are on their way, by status; in AWAITING_BUILD also those without a source yet.',
    labels: { status: REVISION_STATUSES },
  },
  slipway_platform_builds_queued: {
    kind: 'gauge',
    help: 'Revisions that have a source and wait for a build slot.',
    labels: {},
  },
  slipway_platform_agents: { kind: 'gauge', help: 'Agents that run and serve a deployment.', labels: {} },
  slipway_platform_agents_starting: {
    kind: 'gauge',
    help: 'Deployments whose agent exited and is being restarted.',
    labels: {},
  },
  slipway_platform_runs: {
    kind: 'gauge',
    help: 'Runs of all agents that have not ended.',
    labels: { status: ['pending', 'running'] },
  },
  slipway_platform_run_duration_seconds: {
    kind: 'histogram',
    help: 'Time from a run’s acceptance to its end. A run that was rolled back or deleted is not counted.',
    labels: { status: ['success', 'error', 'timeout', 'interrupted'] },
    buckets: WORK_SECONDS,
  },
  slipway_platform_database_query_duration_seconds: {
    kind: 'histogram',
    help: 'Time that a round trip of the control plane to the database took.',
    labels: { result: ['ok', 'error'] },
    buckets: QUERY_SECONDS,
  },
  slipway_platform_http_request_duration_seconds: {
    kind: 'histogram',
    help: 'Time that a request to the control plane or to an agent took, until its answer had been sent.',
    labels: { method: METHODS, route: ROUTES_MAX, status: STATUSES_MAX },
    buckets: REQUEST_SECONDS,
  },
  slipway_platform_api_key_expiry_timestamp_seconds: {
    kind: 'gauge',
    help: 'When the next API key expires, in seconds since 1970; absent: none does.',
    labels: {},
  },
} as const satisfies Record<string, PlatformMetric>;

type PlatformMetricName = keyof typeof PLATFORM_METRICS;

type NameOf<Kind extends PlatformMetric['kind']> = {
  [Name in PlatformMetricName]: (typeof PLATFORM_METRICS)[Name]['kind'] extends Kind ? Name : never;
}[PlatformMetricName];

/** Records a value in a histogram. */
export type RecordTime = <Name extends NameOf<'histogram'>>(
  name: Name,
  seconds: number,
  labels: { readonly [Label in keyof (typeof PLATFORM_METRICS)[Name]['labels']]: string },
) => void;

/** One value that is read on a scrape. */
export interface Reading {
  readonly name: NameOf<'gauge'>;
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}
