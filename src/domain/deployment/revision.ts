import { type Bound, fitting } from '../bounds.ts';
import type { KnownRevision, RollbackRequest } from '../release/release.ts';

/** The meaning of a revision's status for a release that waits for it. */
export type RevisionPhase = 'pending' | 'deployed' | 'failed';

const FAILED = new Set(['CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED']);

/** Reads a revision's status (contract 000). An unknown one is `pending`, which the step's deadline limits. */
export function revisionPhase(status: string): RevisionPhase {
  if (status === 'DEPLOYED') return 'deployed';
  return FAILED.has(status) ? 'failed' : 'pending';
}

export interface DeploymentSnapshot {
  readonly deploymentId: string;
  readonly activeRevisionId: string | null;
  readonly latestRevisionId: string | null;
  /** The upload path of the latest revision's tarball. It identifies the revision of our PATCH. */
  readonly latestTarballPath: string | null;
  readonly latestImageUri: string | null;
  readonly latestRepoRef: string | null;
  /** The agent's address, if the control plane reports one. */
  readonly agentUrl: string | null;
}

export interface RevisionSnapshot {
  readonly revisionId: string;
  readonly status: string;
  readonly tarballPath: string | null;
  readonly imageUri: string | null;
  readonly repoRef: string | null;
  /** Why it failed, if the control plane reports that. */
  readonly reason: string | null;
}

/**
 * Whether a deployment is another one than that of the known revisions: a person deleted theirs, or `slipway.yaml`
 * names another. None of them can be restored there.
 */
export function isAnother(deploymentId: string | null, knownIn: string | undefined): boolean {
  return deploymentId !== null && knownIn !== undefined && deploymentId !== knownIn;
}

const KNOWN: Bound = { items: 50, bytes: 150_000 };

/** The newest revisions are kept, whatever they are: one of them serves, or was left a short time ago. */
const KEPT_NEWEST = KNOWN.items / 2;

/**
 * Keeps a target's revisions up to its limit, oldest first. Those that no rollback chooses make room for those that one may
 * choose, so that however many releases fail, a rollback finds the last verified revision.
 */
export function keepKnown(known: readonly KnownRevision[]): readonly KnownRevision[] {
  const newestCopies = new Map(known.map(({ revisionId, copyOf }) => [copyOf, revisionId]));
  const newest = new Set(known.slice(-KEPT_NEWEST));
  return fitting(known, KNOWN, (revision) => {
    const { revisionId, copyOf, verified, quarantined } = revision;
    const isCopiedAgain = copyOf !== undefined && newestCopies.get(copyOf) !== revisionId;
    return !newest.has(revision) && (isCopiedAgain || !verified || quarantined === true);
  });
}

/** The original of a copy that a redeploy made; for any other revision, the revision itself. */
export function originalOf(known: readonly KnownRevision[], revisionId: string): string {
  return known.find((revision) => revision.revisionId === revisionId)?.copyOf ?? revisionId;
}

/**
 * The unknown revision that serves, if another tool's redeploy copied it from a known one: it carries that one's upload,
 * whose path is unique.
 */
export function copyMadeElsewhere(
  known: readonly KnownRevision[],
  deployment: Pick<DeploymentSnapshot, 'activeRevisionId' | 'latestRevisionId' | 'latestTarballPath'>,
): readonly KnownRevision[] {
  const { activeRevisionId: revisionId, latestRevisionId, latestTarballPath } = deployment;
  if (revisionId === null || revisionId !== latestRevisionId || latestTarballPath === null) return [];
  if (known.some((other) => other.revisionId === revisionId)) return [];
  return known
    .filter(({ upload, copyOf }) => upload === latestTarballPath && copyOf === undefined)
    .map((original) => ({ ...original, revisionId, copyOf: original.revisionId }));
}

/** The age of revisions among the known ones, by their originals: the oldest has 0, and an unknown one -1. */
export function agesIn(known: readonly KnownRevision[]): (revisionId: string) => number {
  const originals = known.map(({ revisionId }) => originalOf(known, revisionId));
  return (revisionId) => originals.indexOf(originalOf(known, revisionId));
}

/** Whether two revisions are the same to a person: a revision, its original and copies (design, `copyOf`). */
export function isSameRevision(known: readonly KnownRevision[], one: string, other: string): boolean {
  return originalOf(known, one) === originalOf(known, other);
}

/** A revision with all copies of it or of its original. */
export function withCopies(known: readonly KnownRevision[], revisionId: string): readonly string[] {
  const copies = known.map((other) => other.revisionId);
  return [...new Set([revisionId, ...copies])].filter((other) => isSameRevision(known, other, revisionId));
}

/**
 * Marks a revision that a person left, and its copies, so that they are not restored automatically again.
 * @param replaced - what served before it, if it is unknown: a running release or another tool has made it.
 */
export function leaveRevision(
  known: readonly KnownRevision[],
  revisionId: string,
  now: string,
  replaced?: string,
): readonly KnownRevision[] {
  const isKnown = known.some((other) => other.revisionId === revisionId);
  const all = isKnown ? known : [...known, { revisionId, verified: false, replaced, at: now }];
  const left = withCopies(all, revisionId);
  return keepKnown(
    all.map((other): KnownRevision =>
      left.includes(other.revisionId) ? { ...other, quarantined: true } : other,
    ),
  );
}

/** The revisions that are restored only by name. */
export function quarantinedIds(known: readonly KnownRevision[]): readonly string[] {
  return known.filter(({ quarantined }) => quarantined === true).map(({ revisionId }) => revisionId);
}

/** Marks the given revisions, and no others, as restored only by name. */
export function quarantineRevisions(
  known: readonly KnownRevision[],
  revisionIds: readonly string[],
): readonly KnownRevision[] {
  return known.map(({ quarantined: _, ...revision }): KnownRevision =>
    revisionIds.includes(revision.revisionId) ? { ...revision, quarantined: true } : revision,
  );
}

/**
 * The revision that the target expected to serve, with its copies, marked as left: a person went back from it on the
 * control plane, because an older one serves. None if a newer or an unknown one serves.
 */
export function leftByHand(
  known: readonly KnownRevision[],
  expected: string,
  serving: string | null,
  now: string,
): readonly KnownRevision[] {
  const age = agesIn(known);
  if (serving === null || age(serving) === -1 || age(serving) >= age(expected)) return [];
  // One that a person made while a release ran may have been noted before what it replaced.
  const { replaced } = known.find(({ revisionId }) => revisionId === serving) ?? {};
  if (replaced !== undefined && isSameRevision(known, replaced, expected)) return [];
  const left = withCopies(known, expected);
  return leaveRevision(known, expected, now).filter(({ revisionId }) => left.includes(revisionId));
}

/** The revision that a person named; `undefined` if none was named, or if the target chose it. */
export function namedRevision({ to, from }: Pick<RollbackRequest, 'to' | 'from'>): string | undefined {
  return from === undefined ? to : undefined;
}

/** The revision that a person named, if it does not serve in the end; `undefined` if it does or none was named. */
export function missedRevision(
  request: RollbackRequest,
  known: readonly KnownRevision[],
  serving: string,
): string | undefined {
  const named = namedRevision(request);
  return named === undefined || isSameRevision(known, named, serving) ? undefined : named;
}

/** How long a release relies on the poller of its control plane before it looks by itself, in milliseconds. */
export const LOOK_AGAIN_MS = 60 * 60_000;

/** How long one attempt of a poller lasts, in milliseconds. Then its workflow puts together what still waits. */
export const POLL_ATTEMPT_MS = 5 * 60_000;
