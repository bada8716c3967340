import { canonicalJson } from '@slipway/contract/canonicalJson';

import type { Check } from '../check/check.ts';
import { originalOf } from '../deployment/revision.ts';
import type { Baseline, KnownRevision } from '../release/release.ts';

/** What was found wrong when a revision's agent was asked. */
export interface Finding {
  /** The check that failed, or could not be carried out: its {@link checkIdentity}. `null`: no check was begun. */
  readonly failedCheck: string | null;
  /** No call to the agent worked. */
  readonly silent: boolean;
}

/** What makes two checks the same. No digest, because workflow code can compute none. */
export function checkIdentity({ assistant, input, expect, turns }: Check): string {
  return canonicalJson({ assistant, input, expect, ...(turns === undefined ? {} : { turns }) });
}

/** How an attempt to restore a revision failed. */
export type FailedAttempt =
  /** The control plane did not take the redeploy, or that is unknown. */
  | 'not_taken'
  /** The revision did not become the active one. */
  | 'not_deployed'
  /** It is the active one. */
  | Finding;

/** Why a revision stays although its checks did not pass, or could not run. */
export type StayReason =
  /** It fails a check that failed on another revision. */
  | 'same_check'
  /** No call to its agent works, and none worked on another revision. */
  | 'no_call'
  /** It is the third that this restore tried and that fails what it passed before. */
  | 'everywhere'
  /** A person asked for the rollback, and it serves. */
  | 'asked_for';

/** What a restore does after an attempt failed: tries the revision again, tries the next one, or leaves it there. */
export type AfterFailure = 'again' | 'next' | { readonly stays: StayReason };

/** How often a revision is restored before the next one is tried. */
const TRIES = 2;

/** How many revisions a restore tries: if none of them can be restored, a person must look. */
export const REVISIONS_TRIED_MAX = 5;

/** How many restored revisions may fail different checks before the cause must lie outside of them. */
const FAILED_MAX = 3;

/**
 * Decides what a restore does after a failed attempt (design, "What restoring means"). What fails everywhere is not the
 * revision: then the restore ends there, and no revision loses its verification.
 */
export function afterFailure(facts: {
  readonly attempt: FailedAttempt;
  /** How often this revision was tried, this attempt included. */
  readonly tries: number;
  /** Whether a person asked for the rollback. */
  readonly manual: boolean;
  /** What was found before the restore: on the new revision, and on what served before anything was changed. */
  readonly before: readonly Finding[];
  /** What was found on each revision that this restore tried before, that served and failed. */
  readonly others: readonly Finding[];
}): AfterFailure {
  const { attempt, tries, manual, before, others } = facts;
  if (attempt === 'not_taken') return 'next';
  if (attempt !== 'not_deployed') {
    const { failedCheck, silent } = attempt;
    const elsewhere = [...before, ...others];
    if (failedCheck !== null && elsewhere.some((found) => found.failedCheck === failedCheck)) {
      return { stays: 'same_check' };
    }
    if (silent && elsewhere.some((found) => found.silent)) return { stays: 'no_call' };
    if (manual) return { stays: 'asked_for' };
    if (others.length >= FAILED_MAX - 1) return { stays: 'everywhere' };
  }
  return tries < TRIES ? 'again' : 'next';
}

/** Why a revision stays, in words. `id`: the revision; `why`: what failed, in words. */
export function stayText(stays: StayReason, id: string, why: string): string {
  switch (stays) {
    case 'same_check':
      return `revision ${id} is restored and serves, but fails a check that failed on another revision too (${why}): the cause may be the model’s provider, the check, or what the new revision changed in shared state`;
    case 'everywhere':
      return `revision ${id} is restored, but is the third in a row that fails what it passed before (${why}): the cause may be the model’s provider, the checks, or what the new revision changed in shared state`;
    case 'no_call':
      return `revision ${id} is restored, but no call to its agent works, and none worked on another revision (${why}): the cause may be the agent’s address or key, its network, or the model’s provider`;
    case 'asked_for':
      return `revision ${id} is restored and serves, but failed its checks: ${why}`;
  }
}

/** A revision that a restore may put back. */
export interface RestoreCandidate {
  readonly revisionId: string;
  readonly verified: boolean;
}

/**
 * The revisions to restore, best first: the one asked for; the verified baseline; the verified ones, newest first; the
 * unverified baseline. One in quarantine is restored only by name, also if there is no other.
 * @param known - oldest first.
 * @param avoid - revisions that are never restored: the one that failed.
 */
export function restoreCandidates(options: {
  readonly to: string | undefined;
  readonly baseline: Baseline | null;
  readonly known: readonly KnownRevision[];
  readonly avoid: readonly string[];
}): readonly RestoreCandidate[] {
  const { to, baseline, known, avoid } = options;
  const candidates: RestoreCandidate[] = [];
  const add = (revisionId: string, verified: boolean): void => {
    if (revisionId !== to && avoid.includes(revisionId)) return;
    if (candidates.some((candidate) => candidate.revisionId === revisionId)) return;
    candidates.push({ revisionId, verified });
  };
  if (to !== undefined) add(to, isVerified(known, to));
  const mayReturn = (revisionId: string): boolean => !isQuarantined(known, revisionId);
  const before = baseline?.revisionId ?? null;
  const beforeReturns = before !== null && mayReturn(before);
  if (beforeReturns && baseline?.verified === true) add(before, true);
  for (const { revisionId, verified } of known.toReversed())
    if (verified && mayReturn(revisionId)) add(revisionId, true);
  if (beforeReturns) add(before, false);
  return candidates;
}

/** Whether a revision is restored only by name. */
export function isQuarantined(known: readonly KnownRevision[], revisionId: string): boolean {
  return known.some((revision) => revision.revisionId === revisionId && revision.quarantined === true);
}

/**
 * The revision that a rollback without a name restores: the newest verified one of an earlier release than what is left
 * (`null`: nothing serves), and none that a person left. A copy is as old as its original; an unknown revision is
 * newest.
 */
export function previousVerified(
  known: readonly KnownRevision[],
  leaving: string | null,
): string | undefined {
  const ages = known.map((revision) => originalOf(known, revision.revisionId));
  const ageOf = (revisionId: string): number => ages.indexOf(originalOf(known, revisionId));
  const end = leaving === null ? -1 : ageOf(leaving);
  const earlier = known.filter(
    ({ revisionId, verified, quarantined }) =>
      verified && quarantined !== true && (end === -1 || ageOf(revisionId) < end),
  );
  const newest = Math.max(...earlier.map(({ revisionId }) => ageOf(revisionId)));
  return earlier.findLast(({ revisionId }) => ageOf(revisionId) === newest)?.revisionId;
}

function isVerified(known: readonly KnownRevision[], revisionId: string): boolean {
  return known.findLast((revision) => revision.revisionId === revisionId)?.verified === true;
}
