import type { Actor } from '../actor.ts';
import type { Artifact } from '../artifact/artifact.ts';
import type { Check } from '../check/check.ts';
import type { ErrorCode } from '../errors.ts';
import type { FreezeWindow } from '../freeze/freeze.ts';
import type { RunningCall } from '../heartbeat.ts';
import type { ApprovalPolicy, InterventionRecord } from '../intervention/intervention.ts';
import type { JudgeVerdict } from '../judge/verdict.ts';
import type { ReceiverSpec } from '../notify/notice.ts';
import type { Instant, WholeNumber } from '../scalars.ts';
import type { StepName, StepOverrides } from '../step.ts';
import type { TargetSpec } from '../target/targetSpec.ts';
import type { Outcome } from './outcome.ts';

/** How many releases wait: only the newest (`latest`), or each of them (`all`). */
type QueuePolicy = 'latest' | 'all';

/**
 * What a release does if the outcome of a step is unknown: the control plane is down, or an answer is missing. A failed
 * revision or check is always rolled back.
 */
export interface ErrorPolicy {
  /**
   * `rollback`: put back what served before. `wait`: wait for a person to say `retry`, `skip` or `abort`, and put it
   * back if no decision comes in time. `stop`: leave everything as it is, and end `errored`.
   */
  readonly then: 'rollback' | 'wait' | 'stop';
  /** How long a person is waited for, in milliseconds. */
  readonly waitMs: number;
}

/** What a release waits for: a person to say something, or a freeze to end. */
export interface Waiting {
  readonly for: 'resume' | 'approval' | 'decision' | 'freeze';
  readonly since: Instant;
  /** When it stops waiting. */
  readonly until: Instant;
  /** What it waits for, in words. */
  readonly note: string;
  /** Who may approve. Absent: anybody but who asked for the release, or it does not wait for approval. */
  readonly approvers?: readonly string[];
}

/** A request to put one artifact, with its configuration, on one target. */
export interface ReleaseRequest {
  /**
   * Digest over artifact, configuration and commit. Two requests with the same key ask for the same thing; it is
   * data, not the update's id (design, "The way of a release", 1).
   */
  readonly requestKey: string;
  readonly target: TargetSpec;
  readonly artifact: Artifact;
  /** `graph.json` within the source; `null` for images. */
  readonly graphConfigPath: string | null;
  readonly checks: readonly Check[];
  readonly steps: StepOverrides;
  /** How long a checked revision is watched before the release counts, in milliseconds. 0: not at all. */
  readonly soakMs: number;
  readonly queue: QueuePolicy;
  /** The commit that the artifact was made from. */
  readonly commit?: string;
  /** When the commit was made. Absent: not known, or the files differ from the commit. */
  readonly committedAt?: Instant;
  /** The branch or tag that the commit was taken from. */
  readonly ref?: string;
  /** Where records are kept: the artifact store's URL. */
  readonly recordStore: string;
  /** Release although the target is on hold. */
  readonly overrideHold?: boolean;
  /** What happens if the outcome of a step is unknown. Absent: `rollback`. */
  readonly onError?: ErrorPolicy;
  /**
   * How long it may stay paused before it is aborted, in milliseconds: a forgotten pause must not hold its target for
   * ever. Absent: a day, so that a pause outlasts a night.
   */
  readonly pauseMs?: number;
  /** Who must agree before anything is changed. Absent: no approval is needed. */
  readonly approval?: ApprovalPolicy;
  /** When the target takes no release. Absent: at any time it does. */
  readonly freezes?: readonly FreezeWindow[];
  /** Release although a freeze is in force; the request's reason says why. */
  readonly overrideFreeze?: boolean;
  /** Who is notified of what happens on the target. Absent: no one. */
  readonly notify?: readonly ReceiverSpec[];
  /** The span that asked for it: a W3C `traceparent`. Absent: it is not traced. */
  readonly trace?: string;
  readonly requestedBy: Actor;
  /** The record with the proof of who asked. Absent: their name is claimed. */
  readonly identity?: string;
}

/** One step as it went. */
export interface StepRecord {
  readonly step: StepName;
  /** What the step was about: the name of a check, the id of a revision. */
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
export interface CheckVerdict {
  readonly check: string;
  readonly revisionId: string;
  readonly passed: boolean;
  /** Why it failed: one sentence for each expectation that was not met. */
  readonly reasons: readonly string[];
  /** The agent's answer, cut to a few hundred bytes. */
  readonly answer: string;
  /**
   * The name of the record in the artifact store that holds the whole answer. Absent: `answer` is the whole answer, or
   * the store was unavailable.
   */
  readonly answerRecord?: string;
  readonly runId: string | null;
  readonly latencyMs: number;
  /** Whether the verdict was recorded on the run's trace. `null`: the check has no `feedbackKey`. */
  readonly feedbackRecorded: boolean | null;
}

/** What the judge found of a promotion's candidate. */
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
  /** Why no call to its agent worked under the settings of the release. Absent: one did, or none was tried. */
  readonly silent?: string;
}

/** What a target knows of a revision that it has dealt with. */
export interface KnownRevision {
  readonly revisionId: string;
  readonly verified: boolean;
  /** The identity of its artifact. Absent: the target did not ship it. */
  readonly artifact?: string;
  /** The digest of the checks that it passed, under which the artifact store keeps them. Absent: they were not kept. */
  readonly checks?: string;
  /** A person skipped checks of it: passing the others does not verify it. */
  readonly skipped?: true;
  /** The release that it belongs to; a copy belongs to its original's. Absent: the target did not make it. */
  readonly release?: string;
  /** The commit that its artifact was made from. */
  readonly commit?: string;
  /** The revision that a redeploy copied. A copy of a copy names the first original. */
  readonly copyOf?: string;
  /** When its checks last passed or failed. */
  readonly at: Instant;
  /** A person rolled back from it: it is restored only if a person names it. */
  readonly quarantined?: true;
}

/** A request to restore an earlier revision. */
export interface RollbackRequest {
  /** A repeated id is the same request. */
  readonly requestId: string;
  /**
   * The revision to restore: named by a person, or, with `from`, chosen by the target. Absent: the target chooses it
   * once it can read the active revision.
   */
  readonly to?: string;
  /** The revision to leave: what served when a person asked for a rollback without naming a revision. */
  readonly from?: string;
  /** The span that asked for it: a W3C `traceparent`. Absent: it is not traced. */
  readonly trace?: string;
  readonly requestedBy: Actor;
  /** The record with the proof of who asked. Absent: there is none, and the name is claimed. */
  readonly identity?: string;
  /** The target is not put on hold. Absent: it is. */
  readonly hold?: false;
}

/** What a target sends the running release about a rollback. */
export interface Preemption extends RollbackRequest {
  /** The release goes on, because `from` does not serve any more; it only never restores `from`. */
  readonly goesOn?: true;
  /**
   * A revision that was given up on serves. The release goes on, because its own revision replaces it, and makes way
   * only where it waits for a person or a freeze.
   */
  readonly overtaker?: string;
}

/** The kind and the progress of a release, a rollback or a promotion: the answer to the query `progress`. */
export interface Progress {
  /** Of a promotion, its name. */
  readonly releaseId: string;
  readonly kind: 'release' | 'rollback' | 'promotion';
  /** What it does at this moment, in words. */
  readonly phase: string;
  readonly startedAt: Instant;
  readonly deploymentId: string | null;
  readonly revisionId: string | null;
  readonly baseline: Baseline | null;
  readonly steps: readonly StepRecord[];
  readonly verdicts: readonly CheckVerdict[];
  /** A promotion's last judgement. Absent: none was made. */
  readonly judgement?: JudgementRecord;
  /** `null`: it has not ended. */
  readonly outcome: Outcome | null;
  /** What a person must do now that it has ended. `null`: nothing. */
  readonly instructions: string | null;
  /** What it waits for. `null`: it proceeds without a person. */
  readonly waiting: Waiting | null;
  /** When a soak or a bake ends. Absent: none has begun. */
  readonly watchUntil?: Instant;
  /** What a step found last that waits without a call under way. Absent: none does. */
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
  /** The revision that serves now, as far as is known. */
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
