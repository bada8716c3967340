import { OUTCOMES } from '../release/outcome.ts';
import { STEP_NAMES } from '../step.ts';

/** One metric of the worker. */
export interface Metric {
  /** `counter` only grows; `histogram` counts values in buckets; `gauge` is a current value. */
  readonly kind: 'counter' | 'histogram' | 'gauge';
  /** What it measures, in one sentence. */
  readonly help: string;
  /** Each label's values: a closed list, or how many distinct ones. Others become `other`. */
  readonly labels: Readonly<Record<string, readonly string[] | number>>;
  /** The upper bounds of a histogram's buckets. */
  readonly buckets?: readonly number[];
}

/** How many targets get their own value in the label `target` of one worker. */
export const TARGETS_MAX = 100;
/** Routes come from a fixed table of endpoints. This limits its size. */
const ROUTES_MAX = 120;
/** HTTP statuses, and the codes of failures without one. */
const STATUSES_MAX = 60;

const KINDS = ['release', 'rollback', 'promotion'] as const;
const SERVICES = ['control_plane', 'agent'] as const;
/** What a release may wait for. */
const WAITS = ['approval', 'decision', 'resume', 'freeze'] as const;

/** From a tenth of a second (a call) to two days (a soak). */
const WORK_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 86_400, 172_800];
const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * All of the worker's metrics that are Slipway's own, by instrument name. Prometheus adds `_total` to a counter's
 * name. Labels contain no ids, addresses or texts from outside, except the names of targets and deployments.
 */
export const METRICS = {
  slipway_releases: counter('Releases and rollbacks that ended.', {
    kind: ['release', 'rollback'],
    outcome: OUTCOMES,
    target: TARGETS_MAX,
  }),
  slipway_promotions: counter('Promotions that ended, by the target that they release on.', {
    outcome: OUTCOMES,
    target: TARGETS_MAX,
  }),
  slipway_release_duration_seconds: histogram(
    'Time from the start of a release, a rollback or a promotion to its outcome.',
    { kind: KINDS, outcome: OUTCOMES },
  ),
  slipway_release_time_seconds: histogram('The same time, split into what it was spent on.', {
    kind: KINDS,
    spent: ['machine', 'control_plane', 'people', 'freeze', 'soak'],
  }),
  slipway_restore_duration_seconds: histogram(
    'Time to roll back: from the failure, or from the start of a rollback that a person asked for, until the restored revision serves.',
    { kind: ['release', 'rollback'] },
  ),
  slipway_queue_wait_seconds: histogram(
    'Time that a release waited in the queue of its target before it started.',
    {},
  ),
  slipway_wait_seconds: histogram(
    'Time that a release or a promotion waited for people or for a freeze to end, each time.',
    { for: WAITS },
  ),
  slipway_step_duration_seconds: histogram('Time that a step took, with all its attempts.', {
    step: STEP_NAMES,
    status: ['done', 'failed', 'canceled'],
  }),
  slipway_step_attempts: counter('Attempts of the steps that ended.', { step: STEP_NAMES }),
  slipway_checks: counter('Checks that an agent answered.', {
    verdict: ['passed', 'failed'],
    restoring: ['true', 'false'],
  }),
  slipway_judgements: counter('Candidates of promotions that were judged.', {
    verdict: ['passed', 'failed', 'inconclusive', 'errored'],
  }),
  slipway_call_duration_seconds: histogram(
    'Time that a call to a control plane or an agent took, until its answer was read.',
    {
      service: SERVICES,
      method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
      route: ROUTES_MAX,
      status: STATUSES_MAX,
    },
    CALL_SECONDS,
  ),
  slipway_calls_in_flight: gauge('Calls that are under way.', { service: SERVICES }),
  slipway_polled_revisions: gauge('Revisions that this worker polls control planes for.', {}),
  slipway_worker_info: gauge('1 for each worker that runs, with its version.', { version: 1 }),
  slipway_workers: gauge('Workers that poll the task queue, as Temporal sees them.', {}),
  slipway_targets: gauge('Targets that Temporal knows. Only the first 100 have the gauges below.', {}),
  slipway_unanswered_targets: gauge(
    'Targets that did not answer when they were asked last. Their gauges keep their values.',
    {},
  ),
  slipway_target_queue_length: gauge('Releases that wait for their turn.', { target: TARGETS_MAX }),
  slipway_target_on_hold: gauge('1 while the target is on hold.', { target: TARGETS_MAX }),
  slipway_target_needs_person: gauge(
    '1 after an outcome that a person must resolve, until a release or a rollback ends well.',
    { target: TARGETS_MAX, outcome: ['rollback_failed', 'errored'] },
  ),
  slipway_target_running_seconds: gauge(
    'How long the release or rollback that runs has been running; 0: none runs.',
    { target: TARGETS_MAX },
  ),
  slipway_target_waiting_seconds: gauge(
    'How long the release that runs has been waiting for people or a freeze; 0: it does not wait.',
    { target: TARGETS_MAX, for: WAITS },
  ),
  slipway_target_step_seconds: gauge(
    'How long the step that runs has been running, but for waits, soaks and bakes; 0: none runs.',
    { target: TARGETS_MAX },
  ),
  slipway_temporal_certificate_expiry_timestamp_seconds: gauge(
    "When the worker's client certificate for Temporal expires, in seconds since 1970.",
    {},
  ),
  slipway_temporal_api_key_expiry_timestamp_seconds: gauge(
    "When the worker's API key for Temporal expires, if the key says so, in seconds since 1970.",
    {},
  ),
} as const;

function counter<const L extends Labels>(help: string, labels: L) {
  return { kind: 'counter', help, labels } as const;
}

function gauge<const L extends Labels>(help: string, labels: L) {
  return { kind: 'gauge', help, labels } as const;
}

function histogram<const L extends Labels>(
  help: string,
  labels: L,
  buckets: readonly number[] = WORK_SECONDS,
) {
  return { kind: 'histogram', help, labels, buckets } as const;
}

type Labels = Metric['labels'];

export type MetricName = keyof typeof METRICS;

type MetricLabels<Name extends MetricName> = {
  readonly [Label in keyof (typeof METRICS)[Name]['labels']]: string;
};

export type Measure = <Name extends MetricName>(
  name: Name,
  value: number,
  labels: MetricLabels<Name>,
) => void;

/** The label `status` of a call: its HTTP status, `aborted` if the caller gave it up, else the failure's code. */
export function statusLabel(end: {
  readonly status?: number;
  readonly code?: string;
  readonly aborted?: boolean;
}): string {
  return end.aborted === true ? 'aborted' : String(end.status ?? end.code ?? '');
}

const OTHER = 'other';
const LABEL_MAX_CHARACTERS = 100;

/**
 * Limits the labels of one process: see {@link Metric.labels}. A label has the same values in all of its metrics. Values
 * that are not allowed become `other`.
 */
export function boundLabels() {
  const seen = new Map<string, Set<string>>();
  const bounded = (label: string, allowed: readonly string[] | number, value: string): string => {
    if (typeof allowed !== 'number') return allowed.includes(value) ? value : OTHER;
    const values = seen.get(label) ?? new Set();
    seen.set(label, values);
    if (!values.has(value) && values.size >= allowed) return OTHER;
    values.add(value);
    return value.slice(0, LABEL_MAX_CHARACTERS);
  };
  return (labels: Metric['labels'], given: Readonly<Record<string, string | undefined>>) =>
    Object.fromEntries(
      Object.entries(labels).map(([label, allowed]) => [label, bounded(label, allowed, given[label] ?? '')]),
    );
}
