import { defineQuery, defineSignal, defineUpdate } from '@temporalio/workflow';

import {
  INTERVENTION_KINDS,
  type InterventionAnswer,
  type InterventionKind,
} from '../domain/intervention.ts';
import type {
  HoldMessage,
  InterventionMessage,
  QuarantineMessage,
  RollbackMessage,
  WithdrawMessage,
} from '../domain/message.ts';
import type { LateBaselines } from '../domain/lateRevisions.ts';
import type { Notice } from '../domain/notify/notice.ts';
import type { ReceiverSpec } from '../domain/notify/receiver.ts';
import type { Undelivered } from '../domain/notify/undelivered.ts';
import type { PromotionRequest } from '../domain/promotion/promotion.ts';
import type { PromotionSchedule } from '../domain/promotion/schedule.ts';
import type {
  KnownRevision,
  Preemption,
  Progress,
  ReleaseRequest,
  RollbackRequest,
} from '../domain/release.ts';
import type { StepOverrides } from '../domain/step.ts';
import type { TargetSpec } from '../domain/targetSpec.ts';
import type { Lookup, ReleaseAnswer, RollbackAnswer, Running, TargetState } from '../domain/targetState.ts';

/** The workflow types, by the names under which they are registered. */
export const WORKFLOW_TYPES = {
  target: 'target',
  release: 'release',
  rollback: 'rollback',
  promotion: 'promotion',
  promotionTurn: 'promotionTurn',
} as const;

/** What a target starts from. Without a state it asks what its earlier runs knew (`recoverTarget.ts`). */
export interface TargetInput {
  readonly state?: TargetState;
  /** Where the state is kept beside Temporal: the artifact store's URL. Absent: not known when it was started. */
  readonly recordStore?: string;
  /** Continue as new once the history is this long. Default: when the server suggests it, at the latest 1,500. */
  readonly continueAsNewAfterEvents?: number;
}

/** What a release starts from. */
export interface ReleaseInput {
  readonly releaseId: string;
  readonly request: ReleaseRequest;
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
  /** Those who want to be told of it. */
  readonly receivers: readonly ReceiverSpec[];
  /** The overrides of the step `notify`. */
  readonly steps: StepOverrides;
  /** The workflow of the target, which keeps what could not be told. */
  readonly reportTo: string;
}

/** Who was told, and who could not be. */
export interface NoticeResult {
  readonly delivered: readonly { readonly receiver: string; readonly detail: string }[];
  readonly undelivered: readonly Undelivered[];
  /** Whether the target knows of what could not be told. */
  readonly reported: boolean;
}

/** The target's answer to the query `view`. */
export interface TargetView {
  readonly state: TargetState;
  readonly running: Running | null;
  /** It has not read yet what its earlier runs knew: the state says nothing. */
  readonly recovering?: true;
}

// To a target

/** Queue a release; answers when it is queued or joined. */
export const submitReleaseUpdate = defineUpdate<ReleaseAnswer, [ReleaseRequest]>('submitRelease');
/** Roll back; answers when it is taken. */
export const rollbackUpdate = defineUpdate<RollbackAnswer, [RollbackMessage]>('rollback');
/** The same, fire and forget: `temporal workflow signal --name rollback` is enough in an emergency. */
export const rollbackSignal = defineSignal<[RollbackMessage?]>('rollback');
export const holdUpdate = defineUpdate<boolean, [HoldMessage]>('hold');
export const holdSignal = defineSignal<[HoldMessage?]>('hold');
export const unholdUpdate = defineUpdate<boolean, [HoldMessage]>('unhold');
export const unholdSignal = defineSignal<[HoldMessage?]>('unhold');
/** Withdraw releases that wait, or a submission; answers with the ids of those that were, or of the submission's release. */
export const withdrawUpdate = defineUpdate<readonly string[], [WithdrawMessage]>('withdraw');
export const withdrawSignal = defineSignal<[WithdrawMessage?]>('withdraw');
/** Answers with the artifact's identity. */
export const quarantineUpdate = defineUpdate<string, [QuarantineMessage]>('quarantine');
export const quarantineSignal = defineSignal<[QuarantineMessage?]>('quarantine');
export const unquarantineUpdate = defineUpdate<string, [QuarantineMessage]>('unquarantine');
export const unquarantineSignal = defineSignal<[QuarantineMessage?]>('unquarantine');
/** From a notice alone: a receiver could not be told. */
export const undeliveredSignal = defineSignal<[Undelivered]>('undelivered');
export const viewQuery = defineQuery<TargetView>('view');
/** From a release alone: it is restoring, and this revision first. */
export const restoringSignal =
  defineSignal<[{ readonly releaseId: string; readonly revisionId: string }]>('restoring');
/** Where a release or a rollback request stands; `null` for an unknown id. */
export const lookupQuery = defineQuery<Lookup | null, [string]>('lookup');

// To a release or a rollback

/** From the target alone: stop going forward and restore a revision, or only never restore one. */
export const preemptSignal = defineSignal<[Preemption]>('preempt');
/**
 * What people say to a release under way. The signals may also be sent to its target, which passes them on: then the
 * target's id is all that has to be known.
 */
export const INTERVENTION_UPDATES = byKind((kind) =>
  defineUpdate<InterventionAnswer, [InterventionMessage]>(kind),
);
export const INTERVENTION_SIGNALS = byKind((kind) => defineSignal<[InterventionMessage?]>(kind));

export const progressQuery = defineQuery<Progress>('progress');

/** Why a workflow refuses a query: it has events that no workflow task has brought yet (`taskBoundaries.ts`). */
export const QUERY_TOO_EARLY = 'the workflow has not handled its newest events yet: ask again';
/** The header of a query to a closed workflow, whose newest events no workflow task will ever bring. */
export const QUERY_CLOSED_HEADER = 'slipway-closed';

/** One definition for each kind of intervention, under its own name. */
function byKind<Definition>(
  define: (kind: InterventionKind) => Definition,
): Record<InterventionKind, Definition> {
  return Object.fromEntries(INTERVENTION_KINDS.map((kind) => [kind, define(kind)])) as Record<
    InterventionKind,
    Definition
  >;
}
