import type { Actor } from '../actor.ts';
import type { ErrorCode } from '../errors.ts';
import type { FreezeWindow } from '../freeze/freeze.ts';
import type { InterventionRecord } from '../intervention/intervention.ts';
import type { DeclaredJudgeSettings, JudgeInputs, OnInconclusive } from '../judge/settings.ts';
import type { Outcome } from '../release/outcome.ts';
import type { CheckVerdict, JudgementRecord, ReleaseRequest, StepRecord } from '../release/release.ts';
import type { Instant } from '../scalars.ts';
import { type TargetSpec, targetWorkflowId } from '../target/targetSpec.ts';

/** How a promotion's candidate is judged against the revision that serves on `to`. */
export interface PromotionJudge {
  readonly inputs: JudgeInputs;
  readonly settings: DeclaredJudgeSettings;
  /** What to do if the runs are inconclusive. It never promotes by itself. */
  readonly onInconclusive: OnInconclusive;
  /** When to judge again, in milliseconds after, and how many times after the first. */
  readonly again: { readonly afterMs: number; readonly times: number };
}

/** A request to release on one target the artifact that is verified on another. */
export interface PromotionRequest extends Pick<ReleaseRequest, 'approval' | 'trace' | 'requestedBy'> {
  /** The promotion's name in `slipway.yaml`. */
  readonly name: string;
  readonly from: TargetSpec;
  readonly to: TargetSpec;
  /** The targets that promotions lead to from `to`, also indirectly. If one is on hold, `to` gets no promotion. */
  readonly downstream: readonly TargetSpec[];
  /** The settings of the release on `to`. Its artifact and commit come from the candidate. */
  readonly release: Pick<
    ReleaseRequest,
    | 'checks'
    | 'checksBudget'
    | 'steps'
    | 'soakMs'
    | 'pauseMs'
    | 'graphConfigPath'
    | 'onError'
    | 'guard'
    | 'notify'
  >;
  /** How long the candidate must have been verified on `from`, in milliseconds. */
  readonly soakMs: number;
  /** How long to watch the release on `to`, in milliseconds. 0: not at all. */
  readonly bakeMs: number;
  /** How often to repeat the checks meanwhile, in milliseconds. */
  readonly checkEveryMs: number;
  /** How to judge the candidate after its soak. Default: no judge. */
  readonly judge?: PromotionJudge;
  /** When `to` accepts no release: its own freezes and those of the promotion. */
  readonly freezes: readonly FreezeWindow[];
  /** Promote even during a freeze. The request's reason says why. */
  readonly overrideFreeze?: boolean;
  /** How the two targets' configurations differ, as text. */
  readonly differences: readonly string[];
  /** The URL of the artifact store for artifacts and records. */
  readonly store: string;
  /** The proof of who asked. Absent: a schedule did, or their name is claimed. */
  readonly asked?: {
    readonly requestId: string;
    /** The record with the proof. */
    readonly identity: string;
  };
}

/** The whole record of a promotion, as the artifact store keeps it. */
export interface PromotionResult {
  /** The promotion's name. */
  readonly promotion: string;
  readonly from: string;
  readonly to: string;
  /** As for a release. Also `released` if `to` runs the artifact already. */
  readonly outcome: Outcome;
  /** Why it ended this way: one sentence. */
  readonly reason: string;
  /** `to` runs the artifact already: nothing was done. */
  readonly nothingToDo: boolean;
  /** The code of the failure that ended it. `null`: nothing failed, or a person stopped it. */
  readonly code: ErrorCode | null;
  /** The identity of the promoted artifact. `null`: nothing could be promoted. */
  readonly artifact: string | null;
  readonly commit: string | null;
  /** The revision of `from` that was promoted. */
  readonly candidateRevisionId: string | null;
  /** The release on `to`. `null`: the promotion ended before it asked for one. */
  readonly releaseId: string | null;
  /** Describes how the configurations of the two targets differ. */
  readonly differences: readonly string[];
  readonly steps: readonly StepRecord[];
  readonly verdicts: readonly CheckVerdict[];
  /** The candidate's last judgement. `null`: none was made. */
  readonly judgement: JudgementRecord | null;
  /** In the order in which they arrived. */
  readonly interventions: readonly InterventionRecord[];
  readonly requestedBy: Actor;
  readonly startedAt: Instant;
  readonly endedAt: Instant;
}

/** The id of a promotion's workflow and schedule. One promotion runs at a time for each name and target. */
export function promotionWorkflowId({ name, to }: Pick<PromotionRequest, 'name' | 'to'>): string {
  return promotionIdAt(targetWorkflowId(to), name);
}

/** The same, by the target's workflow id. */
export function promotionIdAt(targetId: string, name: string): string {
  return `promotion:${targetId.slice('target:'.length)}:${name}`;
}

/** The request key of a promotion's release, the same for each attempt of one promotion. */
export function promotionRequestKey(name: string, artifact: string, runId: string): string {
  return `promotion ${name} ${artifact} ${runId}`;
}

/**
 * The id of the submission of a promotion's run: the same for every attempt, so that the target accepts it once. That of
 * a run after a reset continues the id of the original run, so that both can be withdrawn by the latter.
 */
export function promotionSubmission(workflowId: string, originalRunId: string, runId: string): string {
  return `${workflowId} ${originalRunId}${runId === originalRunId ? '' : ` ${runId}`}`;
}

/** The promotion that requested a release; `undefined` if none did. */
export function promotionOf({
  requestKey,
  target,
}: Pick<ReleaseRequest, 'requestKey' | 'target'>):
  { readonly workflowId: string; readonly runId: string } | undefined {
  const { name, runId } = REQUEST_KEY.exec(requestKey)?.groups ?? {};
  if (name === undefined || runId === undefined) return undefined;
  return { workflowId: promotionWorkflowId({ name, to: target }), runId };
}

const REQUEST_KEY = /^promotion (?<name>.+) \S+ (?<runId>\S+)$/u;
