import type { Actor } from '../domain/actor.ts';
import type { Artifact, TarballArtifact } from '../domain/artifact/artifact.ts';
import type { ChecksBudget, Spent } from '../domain/check/budget.ts';
import type { Check } from '../domain/check/check.ts';
import type { PassedChecks } from '../domain/check/passedChecks.ts';
import type { DeploymentSnapshot, RevisionSnapshot } from '../domain/deployment/revision.ts';
import type { FreezeWindow, Frozen } from '../domain/freeze/freeze.ts';
import type { GuardedInput } from '../domain/guard/guardPolicy.ts';
import type { GuardFinding } from '../domain/guard/guarding.ts';
import type { HookSubject } from '../domain/hooks/decide.ts';
import type { HookFacts, HookHours, HookOrder } from '../domain/hooks/hookEvent.ts';
import type { HookEffect } from '../domain/hooks/hookState.ts';
import type { Statement } from '../domain/identity/statement.ts';
import type { JudgeReport, Side } from '../domain/judge/report.ts';
import type { JudgeInputs, JudgeSettings } from '../domain/judge/settings.ts';
import type { Notice, ReceiverSpec } from '../domain/notify/notice.ts';
import type { CommentSpec } from '../domain/preview/preview.ts';
import type { PromotionTargets } from '../domain/promotion/candidate.ts';
import type { PromotionRequest, PromotionResult } from '../domain/promotion/promotion.ts';
import type {
  CheckVerdict,
  ReleaseRequest,
  ReleaseResult,
  RollbackRequest,
} from '../domain/release/release.ts';
import type { RecordedTarget, TargetSpec } from '../domain/target/targetSpec.ts';
import type {
  HistoryRow,
  KeptState,
  NextWork,
  ReleaseAnswer,
  RollbackAnswer,
  TargetState,
} from '../domain/target/targetState.ts';
import type { WaitingRevision } from '../messages/revisionPoller.ts';
import type { RollbackMessage } from '../messages/target.ts';
import type { CheckedAt, CheckInput } from './check/checkInput.ts';

export interface DeploymentInput {
  readonly target: TargetSpec;
  readonly deploymentId: string;
}

export interface RevisionInput extends DeploymentInput {
  readonly revisionId: string;
}

/** The revision whose artifact a promotion releases, and its target. */
export interface PromotedFrom {
  readonly from: TargetSpec;
  readonly revisionId: string;
}

/** The input of a judgement: the two sides, the inputs for their runs, and the store for runs and report. */
export interface JudgementInput {
  /** The judgement's name in the store. A later attempt with the same id continues with the stored runs. */
  readonly judgementId: string;
  readonly store: string;
  readonly inputs: JudgeInputs;
  readonly settings: JudgeSettings;
  readonly sides: Readonly<Record<Side, RevisionInput & { readonly agentUrl: string }>>;
}

/** The calls of a workflow to other services: each one HTTP call, or one that it repeats. */
export interface Activities {
  /** Finds the deployment by name, or reads it by id; `null` if no deployment has that name. */
  findDeployment(input: {
    readonly target: TargetSpec;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot | null }>>;

  createDeployment(input: {
    readonly target: TargetSpec;
    readonly artifact: Artifact;
    readonly graphConfigPath: string | null;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  readDeployment(input: DeploymentInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  /** @param input.isNew - whether it was made just now: a read may not show it yet. */
  readRevision(
    input: RevisionInput & { readonly isNew?: true },
  ): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /**
   * A deployment's revisions, newest first; `null` if the control plane offers no list, one in another order, or a
   * longer one than is read.
   * @param input.since - an earlier revision: all newer ones are listed, or all revisions if it is gone or `null`.
   * Default: only the newest page.
   */
  listRevisions(
    input: DeploymentInput & { readonly since?: string | null },
  ): Promise<Attempted<{ revisions: readonly RevisionSnapshot[] | null }>>;

  /**
   * Requests an upload URL and uploads the tarball to it. Both calls are in one activity, because the signed URL is a
   * credential that must not enter the history, and each attempt needs a new one.
   */
  uploadArtifact(
    input: DeploymentInput & { readonly artifact: TarballArtifact },
  ): Promise<Attempted<{ objectPath: string }>>;

  /**
   * PATCHes the deployment to the artifact; `objectPath` is set for tarballs.
   * @param input.runId - the run that asks. Temporal repeats what was under way at a reset for the next run, which must not
   * send it again. Absent: an earlier version asks.
   */
  patchDeployment(
    input: DeploymentInput & {
      readonly artifact: Artifact;
      readonly objectPath: string | null;
      readonly graphConfigPath: string | null;
      readonly runId?: string;
    },
  ): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  redeployRevision(input: RevisionInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  /**
   * Deletes the deployment with its tracing project. One that is gone, or is being deleted, is deleted.
   * @returns offered: `false` if the control plane has no such call.
   */
  deleteDeployment(input: DeploymentInput): Promise<Attempted<{ offered: boolean }>>;

  /** PATCHes the deployment to the smallest resources. */
  parkDeployment(input: DeploymentInput): Promise<Attempted<object>>;

  /**
   * Ends the target of a preview: releases the lock of its deployment, and terminates its workflow. Safe to repeat.
   * @param input.deploymentId - `null`: not known; the lock that the target knows of is released all the same.
   * @param input.isDeleted - the deployment is gone: the target forgets its revisions first.
   */
  endTarget(input: {
    readonly target: TargetSpec;
    readonly deploymentId: string | null;
    readonly isDeleted: boolean;
  }): Promise<Attempted<object>>;

  /** Writes the comment of a preview on its pull request: updates the one with the marker, or adds it. */
  writeComment(input: {
    readonly comment: CommentSpec;
    readonly pr: number;
    readonly marker: string;
    /** Markdown. */
    readonly body: string;
  }): Promise<Attempted<{ detail: string }>>;

  /**
   * Polls the revision for some seconds, until it is `DEPLOYED` or has failed. After that, the control plane's poller
   * continues and signals the calling workflow.
   * @param input.since - when the workflow began to wait, in milliseconds since 1970.
   * @param input.until - its deadline.
   */
  awaitDeployed(
    input: RevisionInput & { readonly since: number; readonly until: number },
  ): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /**
   * Polls revisions for some minutes, and signals each change of status to the waiting workflow.
   * @returns the keys of those for which no workflow waits any longer.
   */
  pollRevisions(input: {
    readonly target: TargetSpec;
    readonly waiting: readonly WaitingRevision[];
  }): Promise<Attempted<{ settled: readonly string[] }>>;

  /**
   * Polls until the revision is active and its agent answers.
   * @param input.overtakers - revisions that are not active now. If one of them becomes active, the activity fails
   * with SLIPWAY_REVISION_REPLACED and is not retried. Default: none.
   * @param input.latestBefore - the latest revision before the redeploy whose answer named no new one. The answer may
   * have lagged behind a copy, which may become active instead.
   * @returns `copyId`: the active copy.
   */
  confirmServing(
    input: RevisionInput & { readonly overtakers?: readonly string[]; readonly latestBefore?: string | null },
  ): Promise<Attempted<{ agentUrl: string; copyId?: string }>>;

  /** Calls the agent once, to see whether it answers and accepts the key; `null` if so, else why not. */
  askAgent(input: {
    readonly target: TargetSpec;
    readonly agentUrl: string;
  }): Promise<Attempted<{ silent: string | null }>>;

  /**
   * Runs one check with all its repetitions. A repetition counts only if the revision was active before and after. A new
   * attempt continues with the repetitions that the previous attempt reported. It fails for good with
   * SLIPWAY_CHECKS_BUDGET_SPENT, or with SLIPWAY_EVALUATOR_FAILED (never while `restoring`).
   * @returns `spent`: what the check spent, if there is a budget.
   */
  runCheck(input: RevisionInput & CheckInput): Promise<Attempted<{ verdict: CheckVerdict; spent?: Spent }>>;

  /**
   * The freeze in force at an instant, in milliseconds since 1970; `null` if there is none.
   * @returns `nextAt`: none begins until then.
   */
  lookAtFreezes(input: {
    readonly freezes: readonly FreezeWindow[];
    readonly at: number;
  }): Promise<Attempted<{ frozen: Frozen | null; nextAt: number }>>;

  /**
   * Judges a candidate against a baseline, and stores the report and its runs. If a side does not answer or is no
   * longer the active revision, the report is `errored`. Decision: after a worker died, the next attempt continues
   * with the stored runs (at most 25 are lost), because runs of a model cost money and hours.
   */
  judgeCandidate(
    input: JudgementInput,
  ): Promise<Attempted<{ report: JudgeReport; /** The record's name in the store. */ location: string }>>;

  /**
   * Polls a revision that was given up on until it has failed, has become active, or the deadline has passed. Reads
   * at least once, even if the deadline passed before it began.
   * @param input.until - ISO 8601.
   */
  awaitLateSuccess(
    input: RevisionInput & { readonly until: string },
  ): Promise<Attempted<{ cameUp: boolean }>>;

  /**
   * Waits for a revision with an upload path whose PATCH was given up on; `null` if none appears before the deadline.
   * Reads at least once, even if the deadline passed before it began.
   * @param input.known - known revisions with this upload path, to ignore.
   * @param input.until - ISO 8601.
   */
  awaitLateUpload(
    input: DeploymentInput & {
      readonly objectPath: string;
      readonly known: readonly string[];
      readonly until: string;
    },
  ): Promise<Attempted<{ revisionId: string | null }>>;

  /**
   * Watches the revision that serves, with a round of checks at each interval, until a moment in milliseconds since
   * 1970. Each round has the whole budget. Ends with the first failed verdict; `null` if none failed.
   */
  watchRevision(
    input: RevisionInput &
      CheckedAt & {
        readonly checks: readonly Check[];
        readonly budget?: ChecksBudget;
        readonly until: number;
        readonly everyMs: number;
      },
  ): Promise<Attempted<{ failed: CheckVerdict | null }>>;

  /**
   * Reads the targets of a promotion: their workflows' state, and what serves on `from` and `to`.
   * @param input - `store`: has the state of targets that Temporal no longer has.
   */
  lookAtLine(
    input: Pick<PromotionRequest, 'from' | 'to' | 'downstream' | 'store'>,
  ): Promise<Attempted<{ line: PromotionTargets }>>;

  /** The size of an artifact, by its identity. Fails if it is not in the store. */
  findArtifact(input: {
    readonly store: string;
    readonly artifact: string;
  }): Promise<Attempted<{ sizeBytes: number }>>;

  /** Submits a release once for each id. Fails if `candidate` has gone, or a target `downstream` is on hold. */
  submitToTarget(input: {
    readonly request: ReleaseRequest;
    readonly submission: string;
    readonly candidate?: PromotedFrom;
    readonly downstream?: readonly TargetSpec[];
  }): Promise<Attempted<{ answer: ReleaseAnswer }>>;

  /**
   * Polls a target until a release has ended, or the rollback that a request led to. Fails if `candidate` has gone while the
   * release waits for its turn or a freeze.
   */
  awaitRelease(
    input: RecordedTarget & { readonly id: string; readonly candidate?: PromotedFrom },
  ): Promise<Attempted<{ row: HistoryRow }>>;

  /**
   * Withdraws a submission, whether it has arrived or not. Its release is withdrawn if it waits, and aborted if it
   * runs.
   * @returns the submission's release; `null` if there is none, and then none will follow.
   */
  withdrawSubmission(
    input: RecordedTarget & { readonly submission: string; readonly by: Actor },
  ): Promise<Attempted<{ releaseId: string | null }>>;

  rollBackTarget(
    input: RecordedTarget & { readonly message: RollbackMessage },
  ): Promise<Attempted<{ answer: RollbackAnswer }>>;

  holdTarget(input: RecordedTarget & { readonly by: Actor }): Promise<Attempted<object>>;

  /**
   * Notifies a receiver. A repeated call sends the same notice with the same id. For GitHub it makes several calls,
   * and first looks up what exists already.
   * @returns a short description of the result.
   */
  sendNotice(input: {
    readonly receiver: ReceiverSpec;
    readonly notice: Notice;
  }): Promise<Attempted<{ detail: string }>>;

  /**
   * Claims the lock of a deployment for a target (idempotent). Takes the lock over if its owner no longer runs. Fails
   * with SLIPWAY_DEPLOYMENT_OWNED, without a retry, if another target owns it.
   */
  claimDeployment(input: DeploymentInput): Promise<Attempted<object>>;

  /**
   * Reads the state of the calling target's earlier runs, and the work that they left running: from Temporal, else
   * from the record store. Fails with SLIPWAY_TARGET_UNREADABLE if there was an earlier run and neither can be read.
   * @param input - `recordStore`: if one is known. `afresh`: read only the highest number and what runs.
   * @returns `state`: `null` if no earlier run had any state.
   */
  recallTarget(input: { readonly recordStore: string | null; readonly afresh: boolean }): Promise<
    Attempted<{
      state: TargetState | null;
      work: NextWork | null;
      signaled?: readonly RollbackRequest[] | undefined;
    }>
  >;

  /** Writes the calling target's state that must not be lost to its record store. */
  keepTarget(input: { readonly store: string; readonly state: KeptState }): Promise<Attempted<object>>;

  /** Polls a release or a rollback that an earlier run of the target started, until it has ended. */
  awaitWork(input: { readonly workflowId: string }): Promise<Attempted<{ result: ReleaseResult }>>;

  /** Writes the promotion's record to the artifact store (idempotent). */
  recordPromotion(input: {
    readonly store: string;
    readonly result: PromotionResult;
    readonly runId: string;
  }): Promise<Attempted<{ location: string }>>;

  /**
   * Writes the release's record and the checks that revisions passed to the artifact store (idempotent).
   * @returns the digests of the checks, in the order of `passed`. The record has them with its known revisions.
   */
  recordRelease(input: {
    readonly store: string;
    readonly result: ReleaseResult;
    readonly passed: readonly PassedChecks[];
  }): Promise<Attempted<{ location: string; digests: readonly string[] }>>;

  /**
   * Verifies who asked for something with the token in a record of the artifact store, and removes the record, so
   * that the token enters no history. Fails with SLIPWAY_IDENTITY_UNPROVED, without a retry, also if an earlier
   * attempt removed the record.
   * @param input.name - the record's name.
   * @param input.at - when the statement arrived, ISO 8601. The token must have been valid then.
   */
  proveIdentity(input: {
    readonly store: string;
    readonly name: string;
    readonly statement: Statement;
    readonly at: string;
  }): Promise<Attempted<{ identity: Required<Pick<Actor, 'who' | 'proved'>> }>>;

  /**
   * What the guards of a hook's rule ask about a target, and whether a person must approve now.
   * @param input.hours - when a person must approve. Absent: never.
   * @param input.at - milliseconds since 1970.
   * @returns `recipients`: if a person must approve, the receivers of the target's notices.
   */
  lookForHook(input: {
    readonly workflowId: string;
    readonly hours?: HookHours;
    readonly at: number;
  }): Promise<
    Attempted<{ facts: HookFacts; recipients?: Pick<ReleaseRequest, 'notify' | 'steps'> | undefined }>
  >;

  /**
   * Asks a target for what a hook's rule says. Asked again under the same id, nothing is done twice.
   * @param input.serving - the revision that a rollback leaves. Default: what serves when the target looks.
   * @param input.running - the release that is aborted. Default: the one that runs.
   */
  carryOutOrder(
    input: HookSubject & { readonly order: HookOrder; readonly requestId: string; readonly by: Actor },
  ): Promise<Attempted<HookEffect>>;

  /** Measures the metrics of a guard until one is worse, another revision serves, or its time is over. */
  guardRevision(input: GuardedInput): Promise<Attempted<GuardFinding>>;

  /** Verifies that the artifact store has these datasets, undamaged. */
  findDatasets(input: {
    readonly store: string;
    readonly digests: readonly string[];
  }): Promise<Attempted<object>>;

  /** Reads the checks that a revision passed, and verifies their datasets. */
  readChecks(input: {
    readonly store: string;
    readonly digest: string;
  }): Promise<Attempted<{ checks: readonly Check[] }>>;
}

/** A result with the number of its attempt (from 1). A local activity also returns its duration in milliseconds. */
export type Attempted<T> = T & { readonly attempt: number; readonly tookMs?: number };
