import type { Actor } from '../actor.ts';
import type { ErrorCode } from '../errors.ts';
import { type Outcome, OUTCOMES } from '../release/outcome.ts';

/** Everything that receivers are told of: outcomes under their own names, and what leads to them. */
export const NOTICE_EVENTS = [
  /** A release begins; while it waited its turn nothing was told. */
  'release_started',
  /** A release waits for a person: for approval, or for a decision. */
  'release_waiting',
  ...OUTCOMES,
  /** A rollback begins that was asked for while nothing ran. */
  'rollback_started',
  'hold_set',
  'hold_released',
  /** A promotion waits for a person: for approval, or for a decision. */
  'promotion_waiting',
  'promoted',
  /** A promotion ended without having promoted anything, or took it back. */
  'promotion_stopped',
] as const;

export type NoticeEvent = (typeof NOTICE_EVENTS)[number];

/** What a notice says, before it gets its id and time. */
export interface NoticeContent {
  readonly event: NoticeEvent;
  /** The target's name in `slipway.yaml`; a promotion's is the one that it leads to. */
  readonly target: string;
  /** The id of the target's workflow: which target, whatever repositories call it. */
  readonly targetId: string;
  readonly kind: 'release' | 'rollback' | 'promotion' | 'hold';
  /** `release-3`, `rollback-4`, a promotion's name; `null` for a hold. */
  readonly name: string | null;
  /** How it ended; `null` where it has not. */
  readonly outcome: Outcome | null;
  /** Why: one sentence. */
  readonly reason: string;
  /** The code of the failure that ended it; `null` where nothing failed, or it has not ended. */
  readonly code: ErrorCode | null;
  /** What a person must do now; `null` where nobody need do anything. */
  readonly instructions: string | null;
  readonly artifact: string | null;
  readonly commit: string | null;
  /** The revision that a release made. */
  readonly revisionId: string | null;
  /** The revision that serves now, as far as is known. */
  readonly servingRevisionId: string | null;
  /** The commit of the revision that serves now, where Slipway shipped it. */
  readonly servingCommit: string | null;
  /** Who asked, from where, and why. */
  readonly by: Actor;
}

/**
 * What a receiver is told: the body of a plain webhook (`docs/notifications.md`). Fields may be added within a version;
 * none changes its meaning or goes away.
 */
export interface Notice extends NoticeContent {
  readonly version: 1;
  /** The same however often it is sent: by it a receiver drops what it has had. */
  readonly id: string;
  /** When it happened: ISO 8601. */
  readonly at: string;
}
