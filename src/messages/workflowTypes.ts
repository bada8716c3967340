import type { Notice, ReceiverSpec } from '../domain/notify/notice.ts';
import type { PromotionRequest } from '../domain/promotion/promotion.ts';
import type { KnownRevision, ReleaseRequest, RollbackRequest } from '../domain/release/release.ts';
import type { PromotionSchedule } from '../domain/schedule/schedule.ts';
import type { StepOverrides } from '../domain/step.ts';
import type { LateBaselines } from '../domain/target/lateRevisions.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';
import type { TargetState, Undelivered } from '../domain/target/targetState.ts';

/** The workflow types, by the names under which they are registered. */
export const WORKFLOW_TYPES = {
  target: 'target',
  release: 'release',
  rollback: 'rollback',
  deployment: 'deployment',
  revisionPoller: 'revisionPoller',
  notice: 'notice',
  promotion: 'promotion',
  promotionPlaces: 'promotionPlaces',
  promotionTurn: 'promotionTurn',
} as const;

/**
 * How long a worker may take for one task of any workflow before another worker gets it, in milliseconds; every start
 * sets it. It bounds what a worker costs that is killed in the middle of one (Temporal's default is 10 s), and a
 * restarted worker takes most of it to start. A task takes milliseconds. Rebuilding a history takes about half a
 * millisecond of processor time for each event: under a second for a target's run of the usual length, even with 1,000
 * signals in it. If a machine is too slow for it, the server itself allows more from the fourth attempt on.
 */
export const WORKFLOW_TASK_TIMEOUT_MS = 3_000;

/** What a target starts from. Without a state it asks what its earlier runs knew (`recoverTarget.ts`). */
export interface TargetInput {
  readonly state?: TargetState;
  /** Where the state is kept beside Temporal: the artifact store's URL. Absent: not known when it was started. */
  readonly recordStore?: string;
  /** Continue as new once the history is this long. Default: when the server suggests it, at the latest 1,500. */
  readonly continueAsNewAfterEvents?: number;
}

/** The workflow of a target, as those see it who start it. */
export type TargetWorkflow = (input?: TargetInput) => Promise<void>;

/** What a release starts from. */
export interface ReleaseInput {
  readonly releaseId: string;
  readonly request: ReleaseRequest;
  /** When the target took the request, ISO 8601, if it comes with a proof of who asked. */
  readonly queuedAt?: string;
  /** What the target knows of its revisions, oldest first. */
  readonly known: readonly KnownRevision[];
  /** The deployment whose lock the target owns. */
  readonly owns?: string;
  /** The target's settings that worked last; `null`: none did yet. */
  readonly lastGood: TargetSpec | null;
  /** What was given up on and may become active. */
  readonly late: LateBaselines;
}

/** What a rollback on an idle target starts from. */
export interface RollbackInput {
  readonly releaseId: string;
  readonly request: RollbackRequest;
  /** The newest release request: it names the target's newest settings and the steps' overrides. */
  readonly lastRequest: ReleaseRequest;
  readonly known: readonly KnownRevision[];
  /** The deployment whose lock the target owns. */
  readonly owns?: string;
  /** The target's settings that worked last; `null`: none did yet. */
  readonly lastGood: TargetSpec | null;
}

/** What a promotion starts from, and each turn of its schedule. */
export interface PromotionInput {
  readonly request: PromotionRequest;
  /** The schedule as it was declared, kept for comparison. Absent: it was asked for by hand. */
  readonly schedule?: PromotionSchedule;
}

/** What a notice starts from. */
export interface NoticeInput {
  readonly notice: Notice;
  /** Its receivers. */
  readonly receivers: readonly ReceiverSpec[];
  /** The overrides of the step `notify`. */
  readonly steps: StepOverrides;
  /** The workflow of the target, which keeps what did not reach a receiver. */
  readonly reportTo: string;
}

/** Which receivers were notified, and which could not be. */
export interface NoticeResult {
  readonly delivered: readonly { readonly receiver: string; readonly detail: string }[];
  readonly undelivered: readonly Undelivered[];
  /** Whether the target knows of the failed notices. */
  readonly reported: boolean;
}
