import { pick } from '@slipway/contract/pick';

import type { DeclaredJudgeSettings, JudgeInputs } from '../judge/settings.ts';
import type { JudgeVerdict } from '../judge/verdict.ts';
import type { Outcome } from '../release/outcome.ts';
import type { CheckVerdict, ReleaseRequest } from '../release/release.ts';
import type { Instant, WholeNumber } from '../scalars.ts';
import type { SecretReference, TargetSpec } from '../target/targetSpec.ts';
import type { ReleaseAnswer } from '../target/targetState.ts';

export interface CommentSpec {
  readonly kind: 'github' | 'gitlab';
  /** The API's base URL: `https://api.github.com`, `https://gitlab.com/api/v4`. */
  readonly apiUrl: string;
  readonly token: SecretReference;
  /** `owner/name`, or a GitLab project's whole path. Absent: the requester could not determine it. */
  readonly repository?: string;
}

/** How a preview's agent is compared with the one that serves on the target that the preview copies. */
export interface PreviewJudge {
  readonly settings: DeclaredJudgeSettings;
  readonly inputs: JudgeInputs;
  readonly baseline: TargetSpec;
}

/** A preview's settings, from `slipway.yaml` and the pull request. */
export interface PreviewTerms {
  /** Its name in `slipway.yaml`. */
  readonly name: string;
  /** The number of the pull request or merge request. */
  readonly pr: WholeNumber;
  /** How long it stays after the last push, in milliseconds. */
  readonly ttlMs: WholeNumber;
  /** Absent: it writes no comment. */
  readonly comment?: CommentSpec;
  /** Absent: nothing is compared. */
  readonly judge?: PreviewJudge;
}

/** A preview: its pull request, its deployment, its lifetime. */
export interface PreviewSpec extends PreviewTerms {
  /** The deployment of the preview. */
  readonly target: TargetSpec;
  /** The artifact store for the releases' records. */
  readonly recordStore: string;
}

/** One push, to release as the preview. The request has the preview's target and record store. */
export interface PreviewPush {
  readonly terms: PreviewTerms;
  readonly request: ReleaseRequest;
}

export function specOf({ terms, request }: PreviewPush): PreviewSpec {
  const { target, recordStore } = request;
  return { ...terms, target, recordStore };
}

export interface PreviewAnswer extends ReleaseAnswer {
  readonly expiresAt: Instant;
}

/** A release of a preview that has not ended. */
export interface PreviewRelease {
  readonly releaseId: string;
  readonly commit: string | null;
  /** The submissions that led to it: withdrawing all of them ends it. */
  readonly submissions: readonly string[];
}

/** How the newest release of a preview ended. */
export interface PreviewEnding extends Pick<PreviewRelease, 'releaseId' | 'commit'> {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly verdicts: readonly (Pick<CheckVerdict, 'check' | 'passed' | 'reasons'> & {
    /** The scores of its evaluators, in words. Absent: none. */
    readonly scored?: string;
  })[];
  /** Absent: not judged, or not yet. */
  readonly judgement?: PreviewJudgement;
}

/** How a preview's agent compares with what serves on another target. It decides nothing. */
export interface PreviewJudgement {
  /** The name of that target. */
  readonly baseline: string;
  /** `null`: there was nothing to compare with. */
  readonly verdict: JudgeVerdict | null;
  /** One sentence each. */
  readonly reasons: readonly string[];
}

/** A removal under way. */
export interface PreviewRemoval {
  readonly because: string;
  readonly attempts: WholeNumber;
  /** Why the last attempt failed. `null`: none did. */
  readonly problem: string | null;
  /** The deployment that an attempt found. Absent: none did. */
  readonly deploymentId?: string;
  /** The control plane deletes it, or may do so: only the end of the removal makes way for a push. */
  readonly deletes?: true;
}

/** The state of a preview's workflow, kept across Continue-As-New. */
export interface PreviewState {
  readonly createdAt: Instant;
  /** The last push. */
  readonly renewedAt: Instant;
  readonly expiresAt: Instant;
  readonly release: PreviewRelease | null;
  readonly last: PreviewEnding | null;
  /** The agent's address. `null`: not known yet. */
  readonly agentUrl: string | null;
  readonly removal: PreviewRemoval | null;
  /** A request to create the deployment was never answered: until then the deployment may still appear. Absent: it cannot. */
  readonly mayAppearUntil?: Instant;
  /** Why the comment could not be written. `null`: it was, or none is due. */
  readonly commentProblem: string | null;
}

export type PreviewPhase = 'releasing' | 'idle' | 'removing' | 'removal_failed';

/** A preview's memo, which Temporal's lists return. */
export interface PreviewSummary {
  readonly name: string;
  readonly pr: WholeNumber;
  readonly deployment: string;
  readonly phase: PreviewPhase;
  readonly createdAt: Instant;
  readonly renewedAt: Instant;
  readonly expiresAt: Instant;
  readonly agentUrl: string | null;
  /** The outcome of the newest ended release. `null`: none has ended. */
  readonly outcome: Outcome | null;
  /** What failed: the removal, or else the comment. `null`: nothing. */
  readonly problem: string | null;
}

/** A deployment with the name of a preview, but without a workflow. Nothing removes it. */
export interface UnheldPreview {
  readonly name: string;
  readonly pr: WholeNumber;
  readonly deployment: string;
  readonly deploymentId: string;
}

/** A preview that its workflow still holds long after its deadline. */
export type OverduePreview = Pick<
  PreviewSummary,
  'name' | 'pr' | 'deployment' | 'expiresAt' | 'phase' | 'problem'
>;

/** How long a removal may take, in milliseconds: an hour for a late deployment, and 10 minutes between attempts. */
const REMOVED_WITHIN_MS = 4_500_000;

/**
 * The previews that should have been removed long ago.
 * @param now - in milliseconds since 1970.
 */
export function overduePreviews<Preview extends PreviewSummary>(
  previews: readonly Preview[],
  now: number,
): readonly Preview[] {
  return previews.filter(({ expiresAt }) => Date.parse(expiresAt) + REMOVED_WITHIN_MS < now);
}

export interface PreviewResult {
  /** `parked`: the control plane offers no deletion, so the deployment is still there. */
  readonly removed: 'deleted' | 'parked' | 'never_made';
  /** Why it was removed, and whether its deployment was deleted. */
  readonly reason: string;
}

export function newPreview(now: number, ttlMs: number): PreviewState {
  const createdAt = new Date(now).toISOString();
  return {
    createdAt,
    renewedAt: createdAt,
    expiresAt: new Date(now + ttlMs).toISOString(),
    release: null,
    last: null,
    agentUrl: null,
    removal: null,
    commentProblem: null,
  };
}

/** A push renews the deadline. */
export function renewed(state: PreviewState, now: number, ttlMs: number): PreviewState {
  return { ...state, renewedAt: new Date(now).toISOString(), expiresAt: new Date(now + ttlMs).toISOString() };
}

export function previewPhase({ release, removal }: PreviewState): PreviewPhase {
  if (removal !== null) return removal.problem === null ? 'removing' : 'removal_failed';
  return release === null ? 'idle' : 'releasing';
}

export function summarize({ name, pr, target }: PreviewSpec, state: PreviewState): PreviewSummary {
  const { last, removal, commentProblem } = state;
  const noComment = commentProblem === null ? null : `no comment was written: ${commentProblem}`;
  return {
    name,
    pr,
    deployment: target.deployment,
    phase: previewPhase(state),
    ...pick(state, 'createdAt', 'renewedAt', 'expiresAt', 'agentUrl'),
    outcome: last?.outcome ?? null,
    problem: removal?.problem ?? noComment,
  };
}

/** The pause after a failed removal, in milliseconds: 1 s, doubled up to 10 min. */
export function removalPauseMs(attempts: number): number {
  return Math.min(1_000 * 2 ** Math.max(attempts - 1, 0), 600_000);
}

/** The previews to remove to make room for one more. */
interface Room<P> {
  /** The oldest idle ones. */
  readonly remove: readonly P[];
  /** How many more would have to be removed, but have a release running. */
  readonly short: number;
}

/**
 * Chooses the previews to remove to make room for one. The one with the oldest push goes first. Previews with a running
 * release stay. A preview that is being removed does not count: a push makes it anew.
 * @param previews - those of the same name.
 * @param own - the workflow id of the one that is pushed to.
 * @param max - the most previews, with that one.
 */
export function makeRoom<
  P extends Pick<PreviewSummary, 'phase' | 'renewedAt'> & { readonly workflowId: string },
>(previews: readonly P[], own: string, max: number): Room<P> {
  const staying = previews.filter(({ phase }) => phase === 'idle' || phase === 'releasing');
  if (staying.some(({ workflowId }) => workflowId === own)) return { remove: [], short: 0 };
  const over = Math.max(staying.length + 1 - max, 0);
  const remove = staying
    .filter(({ phase }) => phase === 'idle')
    .sort((one, other) => Date.parse(one.renewedAt) - Date.parse(other.renewedAt))
    .slice(0, over);
  return { remove, short: over - remove.length };
}

/** An image's preview by default: one replica, the least CPU of the contract, memory for a small agent. */
export const SMALLEST_RESOURCES = { min_scale: 1, max_scale: 1, cpu: 0.1, memory_mb: 256 } as const;

/** The resources of a deployment that cannot be deleted: no replica without requests. */
export const PARKED_RESOURCES = { ...SMALLEST_RESOURCES, min_scale: 0 } as const;
