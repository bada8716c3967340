import type { Actor } from '../actor.ts';
import type { SecretReference, TargetSpec } from '../target/targetSpec.ts';

/** Where the number of a metric comes from. Texts are complete: `{deployment}` and `{target}` are replaced. */
export type MetricSource =
  | {
      readonly kind: 'prometheus';
      /** The base URL. The HTTP API is below it. */
      readonly url: string;
      /** PromQL that gives one number. */
      readonly query: string;
      /** A bearer token. Absent: none is sent. */
      readonly token?: SecretReference;
    }
  | {
      readonly kind: 'http';
      /** The address, with `{from}` and `{until}` where it takes a window. */
      readonly url: string;
      /** The dot path to the number in the JSON of the answer. */
      readonly path: string;
      readonly token?: SecretReference;
    }
  | {
      readonly kind: 'feedback';
      /** The base URL of the tracing service. */
      readonly url: string;
      readonly apiKey: SecretReference;
      /** The tenant, if the key is for several. */
      readonly tenantId?: string;
      /** The name of the tracing project. */
      readonly project: string;
      readonly key: string;
      /** The fewest scores that make a value: their mean. */
      readonly atLeast: number;
    };

/** By how much a metric may change against the hour before: in its own unit, or relative to it (0.2: 20 %). */
export interface AllowedChange {
  readonly by: number;
  readonly isRelative: boolean;
}

/** A metric and its limits. At least one limit is set. */
export interface GuardMetric {
  readonly name: string;
  readonly source: MetricSource;
  readonly max?: number;
  readonly min?: number;
  readonly risesBy?: AllowedChange;
  readonly fallsBy?: AllowedChange;
}

/** How a released revision is guarded. */
export interface GuardPolicy {
  /** For how long after the release, in milliseconds. */
  readonly forMs: number;
  /** The time between two measurements, in milliseconds. */
  readonly everyMs: number;
  /** The time from the release to the first measurement, in milliseconds. */
  readonly afterMs: number;
  /** What happens if a metric has no data. */
  readonly noData: 'continue' | 'rollback';
  /** `false`: a rollback does not put the target on hold. Absent: it does. */
  readonly hold?: false;
  readonly metrics: readonly GuardMetric[];
}

/** How the guard of a release guards, whichever copy of its revision serves. Times are milliseconds since 1970. */
export interface GuardPlan {
  readonly target: TargetSpec;
  /** Where the target keeps its state. */
  readonly recordStore: string;
  readonly deploymentId: string;
  readonly policy: GuardPolicy;
  /** When it began: with the end of the release, or of the work after which it began again. */
  readonly since: number;
  /** When the release began. Metrics are compared with the hour before. */
  readonly releasedFrom: number;
}

/** The revision that a guard watches, and for how long. */
export interface GuardedInput extends GuardPlan {
  readonly revisionId: string;
  readonly until: number;
}

/** The hour before a release, to compare with. */
export const HOUR_BEFORE_MS = 3_600_000;

/** How long after its end a guard still tries to measure, if no worker ran: it judges what was then. */
export const GUARD_LATE_MS = 900_000;

/** The shortest time between two measurements: each costs the services a request. */
export const EVERY_LEAST_MS = 1_000;

/** The most metrics of a guard: all are asked at once. */
export const METRICS_MAX = 20;

/** Whether a metric is compared with the hour before. */
export function isCompared({ risesBy, fallsBy }: Pick<GuardMetric, 'risesBy' | 'fallsBy'>): boolean {
  return risesBy !== undefined || fallsBy !== undefined;
}

/** What is wrong with a metric; `undefined` if nothing. */
export function metricProblem(
  metric: Pick<GuardMetric, 'max' | 'min' | 'risesBy' | 'fallsBy'> & { readonly url?: string | undefined },
): { readonly field: string; readonly message: string } | undefined {
  const { max, min, url } = metric;
  if (max === undefined && min === undefined && !isCompared(metric))
    return {
      field: 'max',
      message: 'expected max, min, risesBy or fallsBy: without a limit nothing is worse',
    };
  if (max !== undefined && min !== undefined && min > max)
    return { field: 'min', message: 'is above max, so that every value is worse' };
  const takesWindow = url === undefined || (url.includes('{from}') && url.includes('{until}'));
  if (isCompared(metric) && !takesWindow)
    return { field: 'url', message: 'expected {from} and {until} in it, to be asked about the hour before' };
  return undefined;
}

export function guardWorkflowId(targetId: string, releaseId: string): string {
  return `guard:${targetId}/${releaseId}`;
}

/** The guard as the one who asks for a rollback. */
export function guardActor(releaseId: string, reason: string): Actor {
  return { who: 'guard', from: `the guard of ${releaseId}`, reason };
}

/** The id of a guard's rollback: asked again, it is the same. */
export function guardRequestId(targetId: string, releaseId: string): string {
  return `guard-${releaseId}-${targetId}`;
}
