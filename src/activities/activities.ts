import type { Actor } from '../domain/actor.ts';
import type { Artifact, TarballArtifact } from '../domain/artifact/artifact.ts';
import type { Check } from '../domain/check/check.ts';
import type { PassedChecks } from '../domain/check/passedChecks.ts';
import type { DeploymentSnapshot, RevisionSnapshot } from '../domain/deployment/revision.ts';
import type { FreezeWindow, Frozen } from '../domain/freeze/freeze.ts';
import type { Statement } from '../domain/identity/statement.ts';
import type { JudgeReport, Side } from '../domain/judge/report.ts';
import type { JudgeInputs, JudgeSettings } from '../domain/judge/settings.ts';
import type { Notice, ReceiverSpec } from '../domain/notify/notice.ts';
import type { Line } from '../domain/promotion/candidate.ts';
import type { PromotionResult } from '../domain/promotion/promotion.ts';
import type { CheckVerdict, ReleaseRequest, ReleaseResult } from '../domain/release/release.ts';
import type { TargetSpec } from '../domain/target/targetSpec.ts';
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

/**
 * An activity's result, with the attempt that gave it (from 1): the workflow has no other way to know. A local activity
 * also says how long it took, in milliseconds.
 */
export type Attempted<T> = T & { readonly attempt: number; readonly tookMs?: number };

/** A deployment of a target. */
export interface DeploymentInput {
  readonly target: TargetSpec;
  readonly deploymentId: string;
}

/** A revision of a target's deployment. */
export interface RevisionInput extends DeploymentInput {
  readonly revisionId: string;
}

/** Where a revision is checked. */
interface CheckedAt {
  readonly agentUrl: string;
  /** The artifact store that keeps answers which are too long for a verdict. */
  readonly store: string;
}

/** A judgement: what is compared, by which inputs, and where what is seen is kept. */
export interface JudgementInput {
  /** Names the judgement in the store: an attempt under the same id goes on with the runs of the one before. */
  readonly judgementId: string;
  readonly store: string;
  readonly inputs: JudgeInputs;
  readonly settings: JudgeSettings;
  readonly sides: Readonly<Record<Side, RevisionInput & { readonly agentUrl: string }>>;
}

/** What a release does on the outside. Each is one HTTP call, or one repeated; failures are `ApplicationFailure`s. */
export interface Activities {
  /** Finds the deployment by name, or reads it by id; `null` where there is none of that name. */
  findDeployment(input: {
    readonly target: TargetSpec;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot | null }>>;

  createDeployment(input: {
    readonly target: TargetSpec;
    readonly artifact: Artifact;
    readonly graphConfigPath: string | null;
  }): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  readDeployment(input: DeploymentInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  readRevision(input: RevisionInput): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /**
   * A deployment's revisions, newest first; `null` if they are unknown: the control plane offers no list, or a longer
   * one than is read.
   *
   * @param input.since - a revision of before: all that are newer are listed, or all there are if it is gone or `null`.
   *   Default: the newest page.
   */
  listRevisions(
    input: DeploymentInput & { readonly since?: string | null },
  ): Promise<Attempted<{ revisions: readonly RevisionSnapshot[] | null }>>;

  /**
   * Requests an upload URL and uploads the tarball there. Two calls in one activity: the signed URL is a credential
   * and must not enter the history, and a repeated attempt needs a fresh one.
   */
  uploadArtifact(
    input: DeploymentInput & { readonly artifact: TarballArtifact },
  ): Promise<Attempted<{ objectPath: string }>>;

  /** PATCHes the deployment to the artifact; `objectPath` is set for tarballs. */
  patchDeployment(
    input: DeploymentInput & {
      readonly artifact: Artifact;
      readonly objectPath: string | null;
      readonly graphConfigPath: string | null;
    },
  ): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  redeployRevision(input: RevisionInput): Promise<Attempted<{ deployment: DeploymentSnapshot }>>;

  /**
   * Polls the revision until it is `DEPLOYED` or has failed, for some seconds. One that is pending after them is left to
   * the control plane's poller, which reports to the workflow that calls.
   *
   * @param input.since - when the workflow began to wait, in milliseconds since 1970.
   * @param input.until - when it gives up.
   */
  awaitDeployed(
    input: RevisionInput & { readonly since: number; readonly until: number },
  ): Promise<Attempted<{ revision: RevisionSnapshot }>>;

  /**
   * Polls revisions for some minutes, and reports each change of status to the workflow that waits for it.
   *
   * @returns the keys of those that no release waits for any more.
   */
  pollRevisions(input: {
    readonly target: TargetSpec;
    readonly waiting: readonly WaitingRevision[];
  }): Promise<Attempted<{ settled: readonly string[] }>>;

  /**
   * Polls until the revision is the active one and the agent answers.
   *
   * @param input.overtakers - revisions that are not active when this begins. Where one of them becomes the active one,
   *   it fails at once and for good with SLIPWAY_REVISION_REPLACED. Default: none.
   */
  confirmServing(
    input: RevisionInput & { readonly overtakers?: readonly string[] },
  ): Promise<Attempted<{ agentUrl: string }>>;

  /** Asks the agent once whether it is there, and takes the key: why not, or `null` where it does. */
  askAgent(input: {
    readonly target: TargetSpec;
    readonly agentUrl: string;
  }): Promise<Attempted<{ silent: string | null }>>;

  /** Runs one check; a verdict counts only if the revision was active before and after. */
  runCheck(
    input: RevisionInput & CheckedAt & { readonly check: Check },
  ): Promise<Attempted<{ verdict: CheckVerdict }>>;

  /** The freeze that is in force at an instant, in milliseconds since 1970; `null` where none is. */
  lookAtFreezes(input: {
    readonly freezes: readonly FreezeWindow[];
    readonly at: number;
  }): Promise<Attempted<{ frozen: Frozen | null }>>;

  /**
   * Judges a candidate against a baseline, and keeps the report and the runs it rests on in the store. A side that cannot
   * be asked, or is no longer the active revision, makes a report that is `errored`. Decision: an attempt after a worker
   * has died goes on with the runs that were kept (at most 25 are lost), since runs of a model cost money and hours.
   */
  judgeCandidate(
    input: JudgementInput,
  ): Promise<Attempted<{ report: JudgeReport; /** The record's name in the store. */ location: string }>>;

  /**
   * Polls a revision that was given up on until it has failed, has become the active one, or the time is over. It always
   * looks at least once, also where the time was over before it began.
   *
   * @param input.until - ISO 8601.
   */
  awaitLateSuccess(
    input: RevisionInput & { readonly until: string },
  ): Promise<Attempted<{ cameUp: boolean }>>;

  /**
   * Waits until a revision appears that carries an upload whose PATCH was given up on; `null`: none has when the time is
   * over. It always looks at least once, also where the time was over before it began.
   *
   * @param input.known - the revisions that carry it and are accounted for.
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
   * Watches what serves until a moment, in milliseconds since 1970: a round of checks each time. Ends with the first
   * verdict that fails; `null` where none has.
   */
  watchRevision(
    input: RevisionInput &
      CheckedAt & {
        readonly checks: readonly Check[];
        readonly until: number;
        readonly everyMs: number;
      },
  ): Promise<Attempted<{ failed: CheckVerdict | null }>>;

  /** Looks at the targets of a promotion: what their workflows say, and what the control planes of the two do. */
  lookAtLine(input: {
    readonly from: TargetSpec;
    readonly to: TargetSpec;
    readonly downstream: readonly TargetSpec[];
  }): Promise<Attempted<{ line: Line }>>;

  /** The size of an artifact, by its identity; fails where it is not in the store. */
  findArtifact(input: {
    readonly store: string;
    readonly artifact: string;
  }): Promise<Attempted<{ sizeBytes: number }>>;

  /** Asks a target for a release. Asked again under the same id, it is answered again. */
  submitToTarget(input: {
    readonly request: ReleaseRequest;
    readonly submission: string;
  }): Promise<Attempted<{ answer: ReleaseAnswer }>>;

  /** Polls a target until a release, or the rollback that a request led to, has ended. */
  awaitRelease(input: {
    readonly target: TargetSpec;
    readonly id: string;
  }): Promise<Attempted<{ row: HistoryRow }>>;

  /**
   * Withdraws a submission, whether it has arrived or not: its release is withdrawn if it waits, and stopped if it runs.
   *
   * @returns the release that the submission led to; `null`: none, and none will follow.
   */
  withdrawSubmission(input: {
    readonly target: TargetSpec;
    readonly recordStore: string;
    readonly submission: string;
    readonly by: Actor;
  }): Promise<Attempted<{ releaseId: string | null }>>;

  /** Asks a target to roll back. */
  rollBackTarget(input: {
    readonly target: TargetSpec;
    readonly message: RollbackMessage;
  }): Promise<Attempted<{ answer: RollbackAnswer }>>;

  /** Puts a target on hold. */
  holdTarget(input: {
    readonly target: TargetSpec;
    readonly by: Actor;
  }): Promise<Attempted<{ onHold: boolean }>>;

  /**
   * Notifies a receiver. Sent again it is the same notice, under the same id; where the receiver is
   * GitHub, several calls: what is there already is looked up first.
   *
   * @returns what came of it, in a few words.
   */
  sendNotice(input: {
    readonly receiver: ReceiverSpec;
    readonly notice: Notice;
  }): Promise<Attempted<{ detail: string }>>;

  /**
   * Claims the lock of a deployment for a target; claiming it again is claiming it once. The lock of a target that does
   * not run any more is taken over. Fails for good with SLIPWAY_DEPLOYMENT_OWNED where another target owns it.
   */
  claimDeployment(input: DeploymentInput): Promise<Attempted<object>>;

  /**
   * Reads what the earlier runs of the target that calls knew, and what they left running: from Temporal, else from the
   * record store. Fails with SLIPWAY_TARGET_UNREADABLE where there was a run, and neither tells.
   *
   * @param input - `recordStore`: where one is known. `afresh`: only the numbers that were given, and what runs.
   *   `isReset`: whether the run that calls was reset; it is given back, and so kept in the history.
   * @returns `state`: `null` where there was no earlier run that knew anything.
   */
  recallTarget(input: {
    readonly recordStore: string | null;
    readonly afresh: boolean;
    readonly isReset: boolean;
  }): Promise<Attempted<{ state: TargetState | null; work: NextWork | null; isReset: boolean }>>;

  /** Writes what the target that calls must not lose into its record store. */
  keepTarget(input: { readonly store: string; readonly state: KeptState }): Promise<Attempted<object>>;

  /** Polls a release or a rollback that an earlier run of its target started, until it has ended. */
  awaitWork(input: { readonly workflowId: string }): Promise<Attempted<{ result: ReleaseResult }>>;

  /** Writes the promotion's record into the artifact store; writing it again is writing it once. */
  recordPromotion(input: {
    readonly store: string;
    readonly result: PromotionResult;
    readonly runId: string;
  }): Promise<Attempted<{ location: string }>>;

  /**
   * Writes the release's record into the artifact store, and the checks that revisions passed; writing them again is
   * writing them once.
   *
   * @returns the digests of the checks, in the order of `passed`. The record has them with its known revisions.
   */
  recordRelease(input: {
    readonly store: string;
    readonly result: ReleaseResult;
    readonly passed: readonly PassedChecks[];
  }): Promise<Attempted<{ location: string; digests: readonly string[] }>>;

  /**
   * Verifies who asked for something, by a record of the artifact store, and removes the record: the token in it enters no
   * history. Fails for good with SLIPWAY_IDENTITY_UNPROVED, also where an earlier attempt has removed it.
   *
   * @param input.name - the record's.
   * @param input.at - when the statement arrived, at which the token must have been valid: ISO 8601.
   */
  proveIdentity(input: {
    readonly store: string;
    readonly name: string;
    readonly statement: Statement;
    readonly at: string;
  }): Promise<Attempted<{ identity: Required<Pick<Actor, 'who' | 'proved'>> }>>;

  /** Reads the checks that a revision passed. */
  readChecks(input: {
    readonly store: string;
    readonly digest: string;
  }): Promise<Attempted<{ checks: readonly Check[] }>>;
}
