import type { ErrorCode } from '../errors.ts';

/** The outcomes of a release (design, "Words"). */
export const OUTCOMES = [
  'released',
  /** An earlier revision serves again: after a release that failed, or because a person asked for it. */
  'rolled_back',
  'failed',
  /** Needs a person, and says what to do. */
  'rollback_failed',
  /** Needs a person, and says what to do. */
  'errored',
  'aborted',
  'superseded',
  'rejected',
] as const;

export type Outcome = (typeof OUTCOMES)[number];

/** Whether a person must act: the restore failed, or it is unknown what serves. */
export function needsPerson(outcome: Outcome | 'running' | 'stopped'): boolean {
  return outcome === 'rollback_failed' || outcome === 'errored';
}

/**
 * Whether a rollback is done, by the release or the rollback that settled it. A release that was aborted or failed
 * settles one only if it is done.
 */
export function isRollbackDone(kind: 'release' | 'rollback', outcome: Outcome): boolean {
  return outcome === 'rolled_back' || (kind === 'release' && (outcome === 'aborted' || outcome === 'failed'));
}

/**
 * The command's exit code for an outcome (design, "The command").
 * @param code - the failure's code: a rollback that did not reach the named revision has failed.
 */
export function outcomeExitCode(
  kind: 'release' | 'rollback',
  outcome: Outcome,
  code: ErrorCode | null = null,
): 0 | 2 | 3 | 4 {
  if (kind === 'rollback' && code === 'SLIPWAY_REVISION_NOT_REACHED') return 2;
  switch (outcome) {
    case 'released':
      return 0;
    case 'rolled_back':
      // A manual rollback reached the requested state. A release that was rolled back did not.
      return kind === 'rollback' ? 0 : 2;
    case 'failed':
      return 2;
    case 'rollback_failed':
    case 'errored':
      return 3;
    case 'aborted':
    case 'superseded':
    case 'rejected':
      return 4;
  }
}
