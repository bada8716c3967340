import type { GuardReport } from '../domain/guard/guarding.ts';
import type { GuardedInput } from '../domain/guard/guardPolicy.ts';
import type { HookState } from '../domain/hooks/hookState.ts';
import type { Notice, ReceiverSpec } from '../domain/notify/notice.ts';
import type { PreviewResult, PreviewSpec, PreviewState } from '../domain/preview/preview.ts';
import type { PromotionRequest } from '../domain/promotion/promotion.ts';
import type { KnownRevision, ReleaseRequest, RollbackRequest } from '../domain/release/release.ts';
import type { PromotionSchedule } from '../domain/schedule/schedule.ts';
import type { StepOverrides } from '../domain/step.ts';
import type { LateBaselines } from '../domain/target/lateRevisions.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';
import type { TargetState, Undelivered } from '../domain/target/targetState.ts';

/** The workflow types, by their registered names. */
export const WORKFLOW_TYPES = {
  target: 'target',
  release: 'release',
  rollback: 'rollback',
  deployment: 'deployment',
  revisionPoller: 'revisionPoller',
  notice: 'notice',
  preview: 'preview',
  promotion: 'promotion',
  promotionPlaces: 'promotionPlaces',
  promotionTurn: 'promotionTurn',
  hook: 'hook',
  guard: 'guard',
} as const;

export type WorkflowName = keyof typeof WORKFLOW_TYPES;

/**
 * How the workflow ids of each type begin. In a shared namespace, another application may have types of the same names.
 */
export const ID_PREFIXES: Readonly<Record<WorkflowName, string>> = {
  target: 'target:',
  release: 'target:',
  rollback: 'target:',
  deployment: 'deployment:',
  revisionPoller: 'revision-poller:',
  notice: 'notice:',
  preview: 'preview:',
  promotion: 'promotion:',
  promotionPlaces: 'promotion-places:',
  promotionTurn: 'promotion:',
  hook: 'hook:',
  guard: 'guard:',
};

/**
 * The workflow task timeout of every workflow, in milliseconds: after it, another worker gets the task. Every start
 * sets it. It limits the delay after a worker is killed during a task (Temporal's default is 10 s). A restarted
 * worker needs most of it to start. A task takes milliseconds. A replay takes about half a millisecond of processor
 * time per event: less than a second for a target's run of the usual length, even with 1,000 signals. If a machine is
 * too slow, the server allows more from the fourth attempt on.
 */
export const WORKFLOW_TASK_TIMEOUT_MS = 3_000;

/** The input of a target. Without a state, the target reads the state of its earlier runs (`recoverTarget.ts`). */
export interface TargetInput {
  readonly state?: TargetState;
  /** The artifact store's URL, where the state is also kept; absent if it was unknown at the start. */
  readonly recordStore?: string;
  /** Continue as new at this history length. Default: as the server suggests, after 1,500 events at most. */
  readonly continueAsNewAfterEvents?: number;
}

/** The type of a target's workflow, for clients that start it. */
export type TargetWorkflow = (input?: TargetInput) => Promise<void>;

export interface ReleaseInput {
  readonly releaseId: string;
  readonly request: ReleaseRequest;
  /** When the target accepted the request, ISO 8601, if it comes with a proof of who asked. */
  readonly queuedAt?: string;
  /** What the target knows of its revisions, oldest first. */
  readonly known: readonly KnownRevision[];
  /** The deployment of the known revisions. Absent: whichever is found. */
  readonly knownIn?: string;
  /** The deployment whose lock the target owns. */
  readonly owns?: string;
  /** The revision that the target expects to serve. Absent: not known. */
  readonly expected?: string;
  /** The target's last settings that worked; `null` if none have. */
  readonly lastGood: TargetSpec | null;
  /** Late revisions and uploads that may become active. */
  readonly late: LateBaselines;
  /** The target guards a revision until the release says that it is about to change what serves. */
  readonly endsGuard?: true;
}

export interface RollbackInput {
  readonly releaseId: string;
  readonly request: RollbackRequest;
  /** The newest release request: it has the target's newest settings and the steps' overrides. */
  readonly lastRequest: ReleaseRequest;
  readonly known: readonly KnownRevision[];
  /** The deployment of the known revisions. Absent: whichever is found. */
  readonly knownIn?: string;
  /** The deployment whose lock the target owns. */
  readonly owns?: string;
  /** The revision that the target expects to serve. Absent: not known. */
  readonly expected?: string;
  /** The target's last settings that worked; `null` if none have. */
  readonly lastGood: TargetSpec | null;
}

/** The input of a promotion, and of each run of its schedule. */
export interface PromotionInput {
  readonly request: PromotionRequest;
  /** The schedule as declared, kept for comparison; absent if a person started the promotion. */
  readonly schedule?: PromotionSchedule;
}

export interface PreviewInput {
  readonly spec: PreviewSpec;
  /** Absent: it begins. */
  readonly state?: PreviewState;
  /** Continue as new once the history is this long. Default: when the server suggests it, at the latest 1,500. */
  readonly continueAsNewAfterEvents?: number;
}

export type PreviewWorkflow = (input: PreviewInput) => Promise<PreviewResult>;

export interface NoticeInput {
  readonly notice: Notice;
  readonly receivers: readonly ReceiverSpec[];
  /** The overrides of the step `notify`. */
  readonly steps: StepOverrides;
  /** The target's workflow, which records failed deliveries. */
  readonly reportTo: string;
}

/** Which receivers were notified, and which could not be. */
export interface NoticeResult {
  readonly delivered: readonly { readonly receiver: string; readonly detail: string }[];
  readonly undelivered: readonly Undelivered[];
  /** Whether the target was informed of the failed deliveries. */
  readonly reported: boolean;
}

export interface HookInput {
  /** Its name in `slipway.yaml`. */
  readonly name: string;
  /** Absent: it is new. */
  readonly state?: HookState;
  /** Continue as new once the history is this long. Default: when the server suggests it, at the latest 1,500. */
  readonly continueAsNewAfterEvents?: number;
}

export type HookWorkflow = (input: HookInput) => Promise<void>;

export interface GuardInput extends GuardedInput {
  readonly releaseId: string;
  /** The target's workflow. */
  readonly targetId: string;
}

export interface GuardResult {
  readonly report: GuardReport;
  /** The target's answer to the rollback, or why there is none. `null`: none was asked for. */
  readonly answer: string | null;
}
