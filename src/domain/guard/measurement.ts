import type { AllowedChange, GuardMetric, GuardPolicy } from './guardPolicy.ts';
import { figure, type Instant, type WholeNumber } from '../scalars.ts';

/** What a metric was at one moment. */
export interface Measurement {
  readonly metric: string;
  /** `null`: no data. */
  readonly value: number | null;
  /** The mean of the hour before the release. `null`: it has no data, or it is not asked for. */
  readonly before: number | null;
  /** Why there is no data. Absent: there is. */
  readonly missing?: string;
  /** There is no data yet, because too few scores were given. That alone is no failure before the guard ends. */
  readonly isEarly?: true;
}

/** What a guard measured last. */
export interface Measured {
  readonly at: Instant;
  readonly values: readonly Measurement[];
}

/** How a metric can be worse. */
export const BREACH_KINDS = ['above_max', 'below_min', 'rose', 'fell', 'no_data'] as const;

/** Why a revision is worse: the limit that a metric is beyond. */
export interface Breach {
  readonly metric: string;
  /** `no_data`: the metric has no data, and the policy is `rollback`. */
  readonly kind: (typeof BREACH_KINDS)[number];
  /** `null`: no data. */
  readonly value: number | null;
  /** The limit that the value is beyond. `null`: there is no data. */
  readonly limit: number | null;
  /** The mean of the hour before. Absent: it does not decide. */
  readonly before?: number;
}

/** What the rounds so far have found of each metric. */
export interface Tally {
  /** How many measurements in a row a metric had no data, by its name. Those that were early do not count. */
  readonly missed: Readonly<Record<string, WholeNumber>>;
  /** The metrics that had data at least once. */
  readonly seen: readonly string[];
}

export const EMPTY_TALLY: Tally = { missed: {}, seen: [] };

/** With the policy `rollback`: so many measurements in a row without data are worse. */
export const MISSED_MAX = 5;

/**
 * Judges one round of measurements.
 * @param before - the tally of the rounds before.
 * @param isLast - whether the guard ends with this round.
 * @returns `breach`: the first metric that is worse; `null` if none is. `tally`: with this round.
 */
export function judgeRound(
  { metrics, noData }: Pick<GuardPolicy, 'metrics' | 'noData'>,
  measured: readonly Measurement[],
  before: Tally,
  isLast: boolean,
): { readonly breach: Breach | null; readonly tally: Tally } {
  const tally = count(measured, before);
  const found = metrics.flatMap((metric): readonly Breach[] => {
    const measurement = measured.find(({ metric: name }) => name === metric.name);
    if (measurement === undefined) return [];
    const { value } = measurement;
    if (value !== null) return breachOf(metric, value, measurement.before);
    const isMissing =
      (tally.missed[metric.name] ?? 0) >= MISSED_MAX || (isLast && !tally.seen.includes(metric.name));
    if (noData !== 'rollback' || !isMissing) return [];
    return [{ metric: metric.name, kind: 'no_data', value: null, limit: null }];
  });
  return { breach: found[0] ?? null, tally };
}

function count(measured: readonly Measurement[], { missed, seen }: Tally): Tally {
  const counts = measured.map(({ metric, value, isEarly }) => [
    metric,
    value === null && isEarly !== true ? (missed[metric] ?? 0) + 1 : 0,
  ]);
  const found = measured.filter(({ value }) => value !== null).map(({ metric }) => metric);
  return { missed: Object.fromEntries(counts) as Tally['missed'], seen: [...new Set([...seen, ...found])] };
}

/** The limit that a value is beyond; none if it is within all. A value at its limit is within. */
function breachOf(
  { name: metric, max, min, risesBy, fallsBy }: GuardMetric,
  value: number,
  before: number | null,
): readonly Breach[] {
  if (max !== undefined && value > max) return [{ metric, kind: 'above_max', value, limit: max }];
  if (min !== undefined && value < min) return [{ metric, kind: 'below_min', value, limit: min }];
  if (before === null) return [];
  const highest = risesBy && before + allowed(risesBy, before);
  if (highest !== undefined && value > highest)
    return [{ metric, kind: 'rose', value, limit: highest, before }];
  const lowest = fallsBy && before - allowed(fallsBy, before);
  if (lowest !== undefined && value < lowest) return [{ metric, kind: 'fell', value, limit: lowest, before }];
  return [];
}

function allowed({ by, isRelative }: AllowedChange, before: number): number {
  return isRelative ? Math.abs(before) * by : by;
}

/** `error_rate 0.12 > 0.05`, `error_rate 0.12 > 0.04 (0.02 in the hour before)`, `error_rate has no data`. */
export function breachText({ metric, kind, value, limit, before }: Breach): string {
  if (kind === 'no_data' || value === null || limit === null) return `${metric} has no data`;
  const sign = kind === 'above_max' || kind === 'rose' ? '>' : '<';
  const compared = before === undefined ? '' : ` (${figure(before)} in the hour before)`;
  return `${metric} ${figure(value)} ${sign} ${figure(limit)}${compared}`;
}

/** What was measured, in one line: `error_rate 0.01, helpful has no data: 3 of 10 scores`. */
export function measuredText(measured: readonly Measurement[]): string {
  return measured.map(measurementText).join(', ');
}

function measurementText({ metric, value, missing, before }: Measurement): string {
  if (value === null) return `${metric} has no data${missing === undefined ? '' : `: ${missing}`}`;
  return `${metric} ${figure(value)}${before === null ? '' : ` (${figure(before)} in the hour before)`}`;
}
