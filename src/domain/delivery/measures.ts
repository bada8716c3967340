import { DAY_MS } from '../duration.ts';
import { quantile } from '../quantile.ts';
import { needsPerson } from '../release/outcome.ts';
import type { PastRelease } from '../release/pastRelease.ts';

/** The measured period, in milliseconds since 1970. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** A figure, and the number of releases behind it. */
export type Measured<T> = { readonly state: 'measured'; readonly count: number } & T;

/** The period has no release to compute the figure from. */
interface NotEnoughData {
  readonly state: 'not_enough_data';
  /** What is missing: one sentence. */
  readonly why: string;
}

/** Durations in milliseconds: the median and the 90th percentile. */
export interface Durations {
  readonly medianMs: number;
  readonly p90Ms: number;
}

/** The four DORA measures. {@link DEFINITIONS} explains each of them. */
export interface DeliveryMeasures {
  readonly deploymentFrequency: Measured<{ readonly perDay: number }> | NotEnoughData;
  readonly leadTime: Measured<Durations & { readonly unknown: number }> | NotEnoughData;
  readonly changeFailureRate: Measured<{ readonly failed: number; readonly rate: number }> | NotEnoughData;
  readonly timeToRestore: Measured<Durations> | NotEnoughData;
}

/** What each measure means, for people: one or two sentences. */
export const DEFINITIONS: Readonly<Record<keyof DeliveryMeasures, string>> = {
  deploymentFrequency: 'Releases that ended "released", for each day or week of the period.',
  leadTime:
    'From the commit’s time to the moment in which its release ended "released": the median. The command sends the commit’s time with a release; releases of files that differ from their commit have none.',
  changeFailureRate:
    'Of the releases that changed what their target serves, the share that was rolled back, needs a person, or was released and rolled back later. Releases that a person aborted do not count.',
  timeToRestore:
    'From the failure of a release, or the beginning of a rollback, to the moment in which the restored revision served: the median.',
};

/**
 * Measures the releases of a period. A release belongs to the period in which it ended.
 * @param releases - all known ones, also outside of the period, because a later rollback makes a release of the
 * period a failed one.
 */
export function measureDelivery(releases: readonly TargetRelease[], period: Period): DeliveryMeasures {
  const changes = changesOf(releases).filter(({ release }) => isWithin(release, period));
  const ended = releases.filter((release) => isWithin(release, period));
  const released = ended.filter(isReleased);
  return {
    deploymentFrequency: frequency(released, period),
    leadTime: leadTime(released),
    changeFailureRate: failureRate(changes),
    timeToRestore: timeToRestore(ended),
  };
}

/** The releases of a day that ended "released", and the failed changes. A day begins at midnight, UTC. */
export interface Day {
  /** The day's midnight, in milliseconds since 1970. */
  readonly at: number;
  readonly released: number;
  readonly failed: number;
}

/** The days of a period, oldest first, including days without a release. */
export function daysOf(releases: readonly TargetRelease[], period: Period): readonly Day[] {
  const first = Math.floor(period.from / DAY_MS);
  const last = Math.floor((period.to - 1) / DAY_MS);
  const days = Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => ({
    at: (first + index) * DAY_MS,
    released: 0,
    failed: 0,
  }));
  for (const { release, failed } of changesOf(releases)) {
    const day = days[Math.floor(endOf(release) / DAY_MS) - first];
    if (day === undefined || !isWithin(release, period)) continue;
    if (isReleased(release)) day.released++;
    if (failed) day.failed++;
  }
  return days;
}

function frequency(released: readonly TargetRelease[], { from, to }: Period) {
  const count = released.length;
  if (count === 0) return lacking('No release ended "released".');
  return { state: 'measured', count, perDay: count / Math.max((to - from) / DAY_MS, 1) } as const;
}

function leadTime(released: readonly TargetRelease[]): DeliveryMeasures['leadTime'] {
  const times = released.flatMap((release) => {
    const ms = endOf(release) - Date.parse(release.committedAt ?? '');
    // The committer's clock may be ahead.
    return Number.isNaN(ms) ? [] : [Math.max(ms, 0)];
  });
  if (times.length === 0) return lacking('No release ended "released" whose commit’s time is known.');
  return { ...measured(times), unknown: released.length - times.length };
}

function failureRate(changes: readonly Change[]): DeliveryMeasures['changeFailureRate'] {
  const count = changes.length;
  if (count === 0) return lacking('No release changed what its target serves.');
  const failed = changes.filter((change) => change.failed).length;
  return { state: 'measured', count, failed, rate: failed / count };
}

function timeToRestore(releases: readonly TargetRelease[]): DeliveryMeasures['timeToRestore'] {
  const times = releases.flatMap(({ outcome, restore }) => {
    if (outcome !== 'rolled_back' || restore === undefined) return [];
    const ms = Date.parse(restore.servedAt) - Date.parse(restore.since);
    return Number.isNaN(ms) ? [] : [Math.max(ms, 0)];
  });
  return times.length === 0 ? lacking('No earlier revision was restored.') : measured(times);
}

function measured(times: readonly number[]): Measured<Durations> {
  const sorted = times.toSorted((one, other) => one - other);
  return {
    state: 'measured',
    count: sorted.length,
    medianMs: quantile(sorted, 0.5),
    p90Ms: quantile(sorted, 0.9),
  };
}

function isReleased({ kind, outcome }: TargetRelease): boolean {
  return kind === 'release' && outcome === 'released';
}

function isWithin(release: TargetRelease, { from, to }: Period): boolean {
  const end = endOf(release);
  return end >= from && end < to;
}

/** In milliseconds since 1970; `NaN` if it has not ended. */
function endOf({ endedAt }: TargetRelease): number {
  return Date.parse(endedAt ?? '');
}

function lacking(why: string): NotEnoughData {
  return { state: 'not_enough_data', why };
}

export interface TargetRelease extends PastRelease {
  /** The target's workflow id. */
  readonly targetId: string;
}

/** A release that changed what its target serves. */
interface Change {
  readonly release: TargetRelease;
  /** Whether it was rolled back, then or later, or needs a person. */
  readonly failed: boolean;
}

/** The releases that changed what their targets serve, in order, and which of them failed. */
function changesOf(releases: readonly TargetRelease[]): readonly Change[] {
  const left = leftLater(releases);
  return releases.flatMap((release) => {
    const { kind, outcome, revisionId } = release;
    if (kind !== 'release') return [];
    if (outcome === 'released') return [{ release, failed: left.has(release) }];
    if (outcome === 'rolled_back') return [{ release, failed: true }];
    // Without a revision, nothing was changed.
    return needsPerson(outcome) && revisionId !== null ? [{ release, failed: true }] : [];
  });
}

/** The releases that a later rollback left: each left the newest release or rollback that had ended before. */
function leftLater(releases: readonly TargetRelease[]): ReadonlySet<TargetRelease> {
  const ended = releases
    .filter(({ endedAt, servingRevisionId }) => endedAt !== null && servingRevisionId !== null)
    .toSorted((one, other) => endOf(one) - endOf(other));
  /** By target: what serves, and the release that deployed it; `null` if a rollback did. */
  const serving = new Map<string, { readonly revisionId: string; readonly by: TargetRelease | null }>();
  /** The release of each revision. What a rollback restored belongs to its original's release. */
  const made = new Map<string, TargetRelease>();
  const left = new Set<TargetRelease>();
  for (const release of ended) {
    const { targetId, kind, outcome } = release;
    const revisionId = release.servingRevisionId ?? '';
    const before = serving.get(targetId);
    if (isReleased(release)) {
      made.set(`${targetId} ${revisionId}`, release);
      serving.set(targetId, { revisionId, by: release });
      continue;
    }
    if (revisionId === before?.revisionId) continue;
    const isRollback = kind === 'rollback' && outcome === 'rolled_back';
    if (isRollback && before?.by != null) left.add(before.by);
    serving.set(targetId, {
      revisionId,
      by: made.get(`${targetId} ${revisionId}`) ?? (kind === 'release' ? (before?.by ?? null) : null),
    });
  }
  return left;
}
