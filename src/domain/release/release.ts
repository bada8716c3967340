import type { Actor } from '../actor.ts';
import type { Artifact } from '../artifact/artifact.ts';
import { type Bound, fitting } from '../bounds.ts';
import type { ChecksBudget } from '../check/budget.ts';
import type { Check } from '../check/check.ts';
import type { EvaluatorScores } from '../check/evaluator.ts';
import type { DatasetVerdict, ShownRun } from '../check/dataset.ts';
import type { Repetitions } from '../check/repetition.ts';
import type { ErrorCode } from '../errors.ts';
import type { FreezeWindow } from '../freeze/freeze.ts';
import type { GuardPolicy } from '../guard/guardPolicy.ts';
import type { RunningCall } from '../heartbeat.ts';
import type { ApprovalPolicy, InterventionRecord } from '../intervention/intervention.ts';
import type { JudgeVerdict } from '../judge/verdict.ts';
import type { ReceiverSpec } from '../notify/notice.ts';
import type { Instant, WholeNumber } from '../scalars.ts';
import type { StepName, StepOverrides } from '../step.ts';
import type { TargetSpec } from '../target/targetSpec.ts';
import type { Outcome } from './outcome.ts';

/** What a release does if the outcome of a step is unknown. A failed revision or check is always rolled back. */
export interface ErrorPolicy {
  /**
   * `rollback`: restore what served before. `wait`: wait for a person's `retry`, `skip` or `abort`, and restore if
   * none comes in time. `stop`: change nothing further, and end `errored`.
   */
  readonly then: 'rollback' | 'wait' | 'stop';
  /** How long to wait for a person, in milliseconds. */
  readonly waitMs: number;
}

/** What a release waits for: a person, or the end of a freeze. */
export interface Waiting {
  readonly for: 'resume' | 'approval' | 'decision' | 'freeze';
  readonly since: Instant;
  /** When it stops waiting. */
  readonly until: Instant;
  /** Describes what it waits for. */
  readonly note: string;
  /** Who may approve. Absent: anyone except the person who asked, or it does not wait for approval. */
  readonly approvers?: readonly string[];
}

/** A request to deploy one artifact, with its configuration, to one target. */
export interface ReleaseRequest {
  /**
   * Digest of artifact, configuration and commit. Two requests with the same key ask for the same thing. It is data,
   * not the update's id (design, "The way of a release", 1).
   */
  readonly requestKey: string;
  readonly target: TargetSpec;
  readonly artifact: Artifact;
  /** `graph.json` within the source; `null` for images. */
  readonly graphConfigPath: string | null;
  readonly checks: readonly Check[];
  /** What all checks of a revision may take together, but not of a restored one. Default: what each may take. */
  readonly checksBudget?: ChecksBudget;
  readonly steps: StepOverrides;
  /** How long to watch a checked revision before the release counts, in milliseconds. 0: not at all. */
  readonly soakMs: number;
  /** Which waiting releases to keep: only the newest (`latest`) or all. */
  readonly queue: 'latest' | 'all';
  /** The commit that the artifact was made from. */
  readonly commit?: string;
  /** When the commit was made. Absent: not known, or the files differ from the commit. */
  readonly committedAt?: Instant;
  /** The branch or tag that the commit was taken from. */
  readonly ref?: string;
  /** The URL of the artifact store for records. */
  readonly recordStore: string;
  /** Release even if the target is on hold. */
  readonly overrideHold?: boolean;
  /** The revision that must be active at the start, else it ends superseded. `null`: none. Absent: any. */
  readonly replaces?: string | null;
  /** What to do if the outcome of a step is unknown. Default: `rollback`. */
  readonly onError?: ErrorPolicy;
  /**
   * How long a pause may last before the release is aborted, in milliseconds, so that a forgotten pause does not
   * block the target for ever. Default: a day, so that a pause can last overnight.
   */
  readonly pauseMs?: number;
  /** Who must approve before anything is changed. Default: no approval is needed. */
  readonly approval?: ApprovalPolicy;
  /** When the target accepts no release. Default: it always does. */
  readonly freezes?: readonly FreezeWindow[];
  /** Release even during a freeze. The request's reason says why. */
  readonly overrideFreeze?: boolean;
  /** Who skipped the freezes of the promotion that requests it. Absent: `requestedBy` overrides them. */
  readonly freezeSkippedBy?: string;
  /** How the revision is guarded once it is released. Default: not at all. */
  readonly guard?: GuardPolicy;
  /** Who is notified of events on the target. Default: no one. */
  readonly notify?: readonly ReceiverSpec[];
  /** The span that asked: a W3C `traceparent`. Absent: not traced. */
  readonly trace?: string;
  readonly requestedBy: Actor;
  /** The record with the proof of who asked. Absent: the name is only claimed. */
  readonly identity?: string;
}

/** One step, and its result. */
export interface StepRecord {
  readonly step: StepName;
  /** What the step worked on: the name of a check, the id of a revision. */
  readonly subject?: string;
  /** Whether the step is part of restoring a revision. */
  readonly restoring: boolean;
  readonly startedAt: Instant;
  readonly endedAt?: Instant;
  readonly attempts?: WholeNumber;
  readonly status: 'running' | 'done' | 'failed' | 'canceled' | 'skipped';
  /** The step's result, in a few words. */
  readonly detail?: string;
}

/** The verdict of one check on one revision. */
export interface CheckVerdict extends ShownRun {
  readonly check: string;
  readonly revisionId: string;
  /** Of a check that is repeated: how its repetitions went. The rest is of the last one, or of the first that failed. */
  readonly repetitions?: Repetitions;
  /** Of a check with evaluators: their scores. Absent too if no run met its expectation. */
  readonly scores?: readonly EvaluatorScores[];
  /** Of a check over a dataset: what its rows show. The rest is of the first row that failed, or else of the last. */
  readonly dataset?: DatasetVerdict;
}

/** The judge's findings about a promotion's candidate. */
export interface JudgementRecord {
  readonly verdict: JudgeVerdict;
  /** What the verdict is based on: one sentence each. */
  readonly reasons: readonly string[];
  readonly baselineRevisionId: string;
  readonly candidateRevisionId: string;
  /** The report's name among the records of the artifact store. */
  readonly report: string;
  readonly at: Instant;
}

/** The revision that was active before a release changed anything. */
export interface Baseline {
  readonly revisionId: string | null;
  readonly verified: boolean;
  /** Why no call to its agent worked with the release's settings. Absent: one worked, or none was tried. */
  readonly silent?: string;
}

/** What a target knows about a revision of its deployment. */
export interface KnownRevision {
  readonly revisionId: string;
  readonly verified: boolean;
  /** Its artifact's identity; absent if the target did not deploy it. */
  readonly artifact?: string;
  /** The digest of the checks that it passed, if they were stored. */
  readonly checks?: string;
  /** The longest run of its checks, in milliseconds. */
  readonly answersWithinMs?: WholeNumber;
  /** A person skipped some of its checks, so passing the others does not verify it. */
  readonly skipped?: true;
  /** Its release; for a copy, its original's. Absent: the target did not make it. */
  readonly release?: string;
  /** The commit that its artifact was made from. */
  readonly commit?: string;
  /** The revision that its release replaced. Absent: none, or not known. */
  readonly replaced?: string;
  /** The path of its upload, which also its copies carry. Absent: it has none, or the target did not make it. */
  readonly upload?: string;
  /** The revision that a redeploy copied. A copy of a copy names the first original. */
  readonly copyOf?: string;
  /** When its checks last passed or failed. */
  readonly at: Instant;
  /** A person rolled back from it, so it is restored only by name. */
  readonly quarantined?: true;
  /** That rollback, of a guard or a hook, set no hold: promotions do not release its artifact again. */
  readonly barred?: true;
}

/** A request to restore an earlier revision. */
export interface RollbackRequest {
  /** Requests with the same id are one. */
  readonly requestId: string;
  /** The revision to restore, named by a person, or with `from` chosen by the target. Absent: not chosen yet. */
  readonly to?: string;
  /** The revision to leave: the one that served when a person asked for a rollback without naming a revision. */
  readonly from?: string;
  /** The span that asked for it: a W3C `traceparent`. Absent: it is not traced. */
  readonly trace?: string;
  readonly requestedBy: Actor;
  /** The record with the proof of who asked. Absent: there is none, and the name is claimed. */
  readonly identity?: string;
  /** The target is not put on hold. Absent: it is. */
  readonly hold?: false;
  /** The release whose guard asks. It counts only while that guard is in force. Absent: no guard asks. */
  readonly guard?: string;
  /** It counts only while `from` serves. Absent: it counts in any case. */
  readonly ifServing?: true;
}

/** A signal from a target to its running release, about a rollback. */
export interface Preemption extends RollbackRequest {
  /** The release goes on because `from` no longer serves, but must never restore `from`. */
  readonly goesOn?: true;
  /** A late revision serves. The release goes on, unless it waits for a person or a freeze. */
  readonly overtaker?: string;
}

/** The kind and the progress of a release, a rollback or a promotion: the answer to the query `progress`. */
export interface Progress {
  /** A promotion's id is its name. */
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback' | 'promotion';
  /** Describes what it is doing now. */
  readonly phase: string;
  readonly startedAt: Instant;
  readonly deploymentId: string | null;
  readonly revisionId: string | null;
  readonly baseline: Baseline | null;
  readonly steps: readonly StepRecord[];
  readonly verdicts: readonly CheckVerdict[];
  /** A promotion's last judgement. Absent: none was made. */
  readonly judgement?: JudgementRecord;
  /** Who asked, once their identity is proved. Absent: the request's name is claimed. */
  readonly requestedBy?: Actor;
  /** Who released the artifact that a promotion promotes: they cannot approve it. Absent: not known. */
  readonly madeBy?: readonly Actor[];
  /** `null`: it has not ended. */
  readonly outcome: Outcome | null;
  /** What a person must do after it has ended. `null`: nothing. */
  readonly instructions: string | null;
  /** What it waits for. `null`: it proceeds without a person. */
  readonly waiting: Waiting | null;
  /** When a soak or a bake ends. Absent: none has begun. */
  readonly watchUntil?: Instant;
  /** What a step that waits without a running call found last. Absent: no step does. */
  readonly found?: RunningCall;
  /** In the order in which they arrived. */
  readonly interventions: readonly InterventionRecord[];
}

/** The whole record of a release or a rollback, as the artifact store keeps it. */
export interface ReleaseResult {
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback';
  readonly target: string;
  readonly deploymentId: string | null;
  /** For people: the beginning of its digest, the URI of its image, or its git ref. */
  readonly artifact: string | null;
  /** It is a branch or an image's tag, whose next release may ship something else. Absent: it is not, or not known. */
  readonly artifactMayChange?: true;
  readonly commit: string | null;
  /** When the commit was made. Absent: not known. */
  readonly committedAt?: Instant;
  readonly requestKey: string | null;
  readonly outcome: Outcome;
  /** Why it ended this way: one sentence. */
  readonly reason: string;
  /** The code of the failure that ended it. `null`: nothing failed, or a person stopped it. */
  readonly code: ErrorCode | null;
  /** What a person must do. `null`: nothing. */
  readonly instructions: string | null;
  /** The revision that this release made. */
  readonly revisionId: string | null;
  readonly baseline: Baseline | null;
  /** The revision that served at its end, as far as is known. */
  readonly servingRevisionId: string | null;
  /** Whether what serves now passed its checks. */
  readonly servingVerified: boolean;
  /** Other revisions with this release's artifact, beside the one that it followed. */
  readonly extraRevisionIds: readonly string[];
  /** Revisions that the release stopped watching while the control plane still worked on them. */
  readonly givenUpRevisionIds: readonly string[];
  /** Revisions that redeploys made of earlier ones. Absent: none. */
  readonly copyRevisionIds?: readonly string[];
  /** The upload whose PATCH was never answered: its revision may still appear. */
  readonly unansweredUpload?: string;
  /** The request to create the deployment was never answered: until then the deployment may still appear. */
  readonly mayAppearUntil?: Instant;
  readonly knownRevisions: readonly KnownRevision[];
  readonly agentUrl: string | null;
  /** The settings of the newest request worked: the next restore uses them. */
  readonly settingsWorked?: true;
  readonly steps: readonly StepRecord[];
  readonly verdicts: readonly CheckVerdict[];
  readonly requestedBy: Actor;
  /** The rollback that pre-empted it. */
  readonly preemptedBy: RollbackRequest | null;
  /** In the order in which they arrived. */
  readonly interventions: readonly InterventionRecord[];
  readonly startedAt: Instant;
  readonly endedAt: Instant;
}

/** What the artifact store keeps of a release. */
export interface ReleaseRecord extends ReleaseResult {
  /** The release's own workflow, whose id begins with its target's. */
  readonly workflowId: string;
}

/** The fields of a result that its row in the target's history has, too. */
export const ENDED_FIELDS = [
  'releaseId',
  'kind',
  'artifact',
  'commit',
  'committedAt',
  'outcome',
  'reason',
  'revisionId',
  'servingRevisionId',
  'requestedBy',
  'endedAt',
] as const satisfies readonly (keyof ReleaseResult)[];

export function startingProgress(of: Pick<Progress, 'releaseId' | 'kind' | 'startedAt'>): Progress {
  return {
    ...of,
    phase: 'starting',
    deploymentId: null,
    revisionId: null,
    baseline: null,
    steps: [],
    verdicts: [],
    outcome: null,
    instructions: null,
    waiting: null,
    interventions: [],
  };
}

/** The limit for the steps of a release's result, and for its verdicts, as JSON. Temporal's limit for all is 2 MB. */
const PART: Bound = { items: Infinity, bytes: 500_000 };

/** Limits the steps of a release: if there are too many, the oldest passed checks are dropped. */
export function boundedSteps(steps: readonly StepRecord[]): readonly StepRecord[] {
  return fitting([...steps], PART, ({ step, status }) => CHECKING.has(step) && ENDED_WELL.has(status));
}

/** Limits the verdicts of a release: if there are too many, the oldest passed ones are dropped. */
export function boundedVerdicts(verdicts: readonly CheckVerdict[]): readonly CheckVerdict[] {
  return fitting(verdicts, PART, ({ passed }) => passed);
}

const CHECKING: ReadonlySet<string> = new Set(['baseline', 'check']);
const ENDED_WELL: ReadonlySet<string> = new Set(['done', 'skipped']);
