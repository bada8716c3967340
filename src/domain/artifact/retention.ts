import { AGE_MAX_MS, DAY_MS, formatDuration, parseDuration } from '../duration.ts';
import { datasetDigests } from '../check/dataset.ts';
import type { KnownRevision, ReleaseRequest } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import type { TargetState } from '../target/targetState.ts';

export interface HeldArtifact {
  readonly digest: string;
  readonly sizeBytes: number;
  /** When it was last put: ISO 8601. A repeated put counts. */
  readonly putAt: string;
}

export interface ArtifactUse {
  /** Its identity, or the beginning of its digest if only that is known. */
  readonly artifact: string;
  readonly why: string;
}

/** A release of an artifact, as recorded in the artifact store. */
export interface RecordedRelease {
  readonly target: string;
  /** The target's workflow id: targets of several projects may have the same name and one store. */
  readonly targetId: string;
  readonly releaseId: string;
  /** The artifact's identity, or the beginning of its digest. */
  readonly artifact: string;
  /** The datasets that its checks asked. */
  readonly datasets: readonly string[];
  /** Whether it ended `released`. */
  readonly released: boolean;
  readonly endedAt: Instant;
}

/** What to keep although nothing needs it. */
export interface RetentionPolicy {
  /** For each target, the artifacts of this many of its last releases that ended `released`. */
  readonly keep: number;
  /** Artifacts put within this time, in milliseconds. */
  readonly olderThanMs: number;
}

export interface Retention {
  readonly artifact: HeldArtifact;
  /** Its newest release with any outcome; `null` if no release of it is recorded. */
  readonly last: RecordedRelease | null;
  /** Why it is kept, the most important reason first. If empty, it may be removed. */
  readonly kept: readonly string[];
}

/** The default policy: the last 20 releases of each target, and artifacts younger than 30 days. */
export const DEFAULT_RETENTION: RetentionPolicy = { keep: 20, olderThanMs: 30 * DAY_MS };

/** Until a release reaches its target, only the artifact's age protects it. */
const RETENTION_AGE_MIN_MS = 3_600_000;

/** Reads the age from which artifacts may be removed: `30d`, `2h`; `undefined` if it is invalid or too short. */
export function parseRetentionAge(text: string): number | undefined {
  const age = parseDuration(text, AGE_MAX_MS);
  return age !== undefined && age >= RETENTION_AGE_MIN_MS ? age : undefined;
}

/**
 * Decides which artifacts of a store are kept, and why.
 * @param uses - the artifacts that targets, promotions and schedules need. They are always kept.
 */
export function decideRetention(
  held: readonly HeldArtifact[],
  uses: readonly ArtifactUse[],
  releases: readonly RecordedRelease[],
  policy: RetentionPolicy,
  now: number,
): readonly Retention[] {
  const newestFirst = releases.toSorted((one, other) => (one.endedAt < other.endedAt ? 1 : -1));
  const needed = [...uses, ...lastReleased(newestFirst, policy.keep)];
  const youngWords = `put within ${ageText(policy.olderThanMs)}`;
  return held.map((artifact) => {
    const isIt = (named: { readonly artifact: string }): boolean =>
      artifact.digest.startsWith(named.artifact);
    const young = now - Date.parse(artifact.putAt) < policy.olderThanMs;
    return {
      artifact,
      last: newestFirst.find(isIt) ?? null,
      kept: [...new Set(needed.filter(isIt).map(({ why }) => why)), ...(young ? [youngWords] : [])],
    };
  });
}

/** The artifacts that a target needs: those that serve or wait, and those that may be restored or promoted. */
export function targetUses(target: string, state: TargetState): readonly ArtifactUse[] {
  const { known, activeRevisionId, queue } = state;
  const serving = known.filter(({ revisionId }) => revisionId === activeRevisionId);
  const verified = known.filter((revision) => revision.verified && !serving.includes(revision));
  return [
    ...shippedOf(serving, `serves on ${target}`),
    ...queue.flatMap(({ releaseId, request }) => requestUses(request, `${releaseId} waits on ${target}`)),
    ...shippedOf(verified, `verified on ${target}`),
  ];
}

/** The artifacts that a request names: what it ships, and the datasets of its checks. */
export function requestUses(
  { artifact, checks = [] }: Partial<Pick<ReleaseRequest, 'artifact' | 'checks'>>,
  why: string,
): readonly ArtifactUse[] {
  return [
    ...(artifact?.kind === 'tarball' ? [{ artifact: artifact.digest, why }] : []),
    ...datasetUses(datasetDigests(checks), why),
  ];
}

export function datasetUses(digests: readonly string[], why: string): readonly ArtifactUse[] {
  return digests.map((artifact) => ({ artifact, why: `a dataset of a check: ${why}` }));
}

/** The artifacts of revisions. A revision that was made elsewhere has none. */
function shippedOf(revisions: readonly KnownRevision[], why: string): readonly ArtifactUse[] {
  return revisions.flatMap(({ artifact }) => (artifact === undefined ? [] : [{ artifact, why }]));
}

/**
 * The artifacts that targets may need which released into the store but can no longer be asked.
 * @param asked - the workflow ids of the targets that were.
 */
export function unaskedUses(
  releases: readonly RecordedRelease[],
  asked: ReadonlySet<string>,
): readonly ArtifactUse[] {
  return releases
    .filter(({ targetId }) => !asked.has(targetId))
    .flatMap(({ target, artifact, datasets }) => {
      const why = `released on ${target}, which could not be asked`;
      return [{ artifact, why }, ...datasetUses(datasets, why)];
    });
}

/** The last artifacts that each target released, as many as the policy keeps. */
function lastReleased(newestFirst: readonly RecordedRelease[], keep: number): readonly ArtifactUse[] {
  const byTarget = new Map<string, Set<string>>();
  const uses: ArtifactUse[] = [];
  for (const { target, targetId, artifact, datasets, released } of newestFirst) {
    const why = `among the last ${keep} released on ${target}`;
    const last = byTarget.get(targetId) ?? new Set();
    if (released && last.size < keep) byTarget.set(targetId, last.add(artifact));
    if (last.has(artifact)) uses.push({ artifact, why }, ...datasetUses(datasets, why));
  }
  return uses;
}

function ageText(milliseconds: number): string {
  return milliseconds % DAY_MS === 0 ? `${milliseconds / DAY_MS}d` : formatDuration(milliseconds);
}
