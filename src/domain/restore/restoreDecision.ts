import { canonicalJson } from '@slipway/contract/json';
import { pick } from '@slipway/contract/pick';

import type { Check } from '../check/check.ts';
import { agesIn } from '../deployment/revision.ts';
import type { Baseline, KnownRevision } from '../release/release.ts';

/** What the checks found wrong on a revision. */
export interface Finding {
  /** The {@link checkIdentity} of the check that failed or could not run; `null` if no check was started. */
  readonly failedCheck: string | null;
  /** Whether no call to the agent worked. */
  readonly silent: boolean;
}

/** Identifies equal checks. It is not a digest, because workflow code cannot compute one. */
export function checkIdentity(check: Check): string {
  const asked = pick(check, 'assistant', 'input', 'expect', 'turns', 'evaluators', 'reference');
  const dataset = check.dataset && pick(check.dataset, 'digest', 'rows', 'seed', 'passRate');
  return canonicalJson({ ...asked, dataset });
}

/** How an attempt to restore a revision failed. */
export type FailedAttempt =
  /** The control plane did not accept the redeploy, or that is unknown. */
  | 'not_taken'
  /** The revision did not become active. */
  | 'not_deployed'
  /** It is active, but failed. */
  | Finding;

/** Why a revision stays although its checks failed or could not run. */
export type StayReason =
  /** It fails a check that failed on another revision. */
  | 'same_check'
  /** No call to its agent works, and none worked on another revision. */
  | 'no_call'
  /** It is the third revision of this restore that fails checks that it passed before. */
  | 'everywhere'
  /** A person asked for the rollback, and it serves. */
  | 'asked_for';

/** What a restore does after a failed attempt: try again, try the next revision, or leave this one. */
export type AfterFailure = 'again' | 'next' | { readonly stays: StayReason };

/** How many times to restore a revision before trying the next one. */
const TRIES = 2;

/** How many revisions a restore tries. After them, a person must look. */
export const REVISIONS_TRIED_MAX = 5;

/** How many restored revisions may fail different checks before the cause must be elsewhere. */
const FAILED_MAX = 3;

/**
 * Decides what a restore does after a failed attempt (design, "What restoring means"). If something fails everywhere,
 * the revision is not the cause: then the restore ends there, and no revision loses its verification.
 */
export function afterFailure(facts: {
  readonly attempt: FailedAttempt;
  /** How many times this revision was tried, including this attempt. */
  readonly tries: number;
  /** Whether a person asked for the rollback. */
  readonly manual: boolean;
  /** The failures found before the restore: on the new revision, and on the baseline before any change. */
  readonly before: readonly Finding[];
  /** The failures found on the revisions that this restore tried before, and that served. */
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

/** Explains why a revision stays. `id`: the revision; `why`: what failed. */
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

export type RestoreCandidate = Pick<KnownRevision, 'revisionId' | 'verified'>;

/**
 * The revisions to restore, best first: the requested one; the verified baseline; the verified ones, newest first;
 * the unverified baseline. A quarantined revision is restored only by name, even if there is no other.
 * @param known - oldest first.
 * @param avoid - revisions never to restore: the one that failed.
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
export function isQuarantined(known: readonly KnownRevision[], revisionId: string | undefined): boolean {
  return known.some((revision) => revision.revisionId === revisionId && revision.quarantined === true);
}

/**
 * The revision that an unnamed rollback restores: the newest verified one of an earlier release than the one to leave
 * (`null` if nothing serves), except those that a person left. It is no newer than what that release replaced, because a
 * person may have gone back past others. A copy is as old as its original. An unknown revision is newest.
 */
export function previousVerified(
  known: readonly KnownRevision[],
  leaving: string | null,
): string | undefined {
  const ageOf = agesIn(known);
  const { replaced = '' } = known.find(({ revisionId }) => revisionId === leaving) ?? {};
  const end = ageOf(replaced) === -1 ? ageOf(leaving ?? '') : ageOf(replaced) + 1;
  const earlier = known.filter(
    ({ revisionId, verified, quarantined }) =>
      verified && quarantined !== true && (end === -1 || ageOf(revisionId) < end),
  );
  const newest = Math.max(...earlier.map(({ revisionId }) => ageOf(revisionId)));
  return earlier.findLast(({ revisionId }) => ageOf(revisionId) === newest)?.revisionId;
}

/** The revision that {@link previousVerified} would find if none were in quarantine. */
export function barredBefore(known: readonly KnownRevision[], leaving: string | null): string | undefined {
  const freed = known.map(({ quarantined: _, ...revision }) => revision);
  return previousVerified(freed, leaving);
}

/** @param known - a later entry of a revision has the newer verdict. */
export function isVerified(known: readonly KnownRevision[], revisionId: string | null): boolean {
  return known.findLast((revision) => revision.revisionId === revisionId)?.verified === true;
}
