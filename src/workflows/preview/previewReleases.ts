import { CancellationScope, condition, workflowInfo } from '@temporalio/workflow';

import { shortCommit } from '../../domain/artifact/artifact.ts';
import { scoresText } from '../../domain/check/evaluator.ts';
import type {
  PreviewEnding,
  PreviewJudge,
  PreviewJudgement,
  PreviewRelease,
  PreviewSpec,
  PreviewState,
} from '../../domain/preview/preview.ts';
import type { TargetSeen } from '../../domain/promotion/candidate.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import { type TargetSpec, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { HistoryRow, ReleaseAnswer } from '../../domain/target/targetState.ts';
import { explain, pipelineFailure } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

interface Released {
  readonly spec: PreviewSpec;
  readonly state: PreviewState;
  change(next: Partial<PreviewState>): void;
  report(): void;
}

/** How long a removal waits for the release to end, in milliseconds: a restore may be in progress. */
const END_WITHIN_MS = 600_000;

/** How long one attempt of a removal waits until its target has taken a push, in milliseconds. */
const SUBMITTED_WITHIN_MS = 10_000;

/** The releases of a preview, which its target runs. A newer push ends the release of an older one. */
export class PreviewReleases {
  readonly #preview: Released;
  #submitting = 0;
  #following = 0;
  #judging = 0;
  #scope = new CancellationScope();
  #judgement = new CancellationScope();

  constructor(preview: Released) {
    this.#preview = preview;
  }

  /** Whether no release is queued, running, being submitted or judged. */
  get isIdle(): boolean {
    const isBusy = this.#submitting > 0 || this.#following > 0 || this.#judging > 0;
    return !isBusy && this.#preview.state.release === null;
  }

  resume(): void {
    const { release } = this.#preview.state;
    if (release !== null) this.#follow(release);
  }

  async submit(submission: string, request: ReleaseRequest): Promise<ReleaseAnswer> {
    this.#submitting++;
    try {
      const summary = `release ${request.commit === undefined ? 'a push' : shortCommit(request.commit)}`;
      const { answer } = await activitiesOf('promote', request.steps, summary).submitToTarget({
        request,
        submission,
      });
      this.#note(submission, request, answer);
      return answer;
    } finally {
      this.#submitting--;
    }
  }

  /** Ends the queued or running release, and waits for the end of all. On timeout, the end of the target ends them. */
  async end(because: string): Promise<void> {
    this.#judgement.cancel();
    if (this.#submitting > 0 && !(await condition(() => this.#submitting === 0, SUBMITTED_WITHIN_MS))) {
      const waits = 'the target of the preview does not answer, so a push cannot be ended';
      throw pipelineFailure('SLIPWAY_STEP_TIMED_OUT', waits);
    }
    const { release } = this.#preview.state;
    if (release !== null) await this.#withdraw(release, `the preview is removed: ${because}`);
    if (this.#following > 0) await condition(() => this.#following === 0, END_WITHIN_MS);
  }

  forget(): void {
    this.#scope.cancel();
    this.#scope = new CancellationScope();
  }

  #note(submission: string, { commit }: ReleaseRequest, { releaseId, disposition }: ReleaseAnswer): void {
    const { release: earlier } = this.#preview.state;
    if (disposition === 'rejected' || disposition === 'already_released') return;
    if (earlier?.releaseId === releaseId) {
      this.#preview.change({ release: { ...earlier, submissions: [...earlier.submissions, submission] } });
      return;
    }
    const release = { releaseId, commit: commit ?? null, submissions: [submission] };
    this.#judgement.cancel();
    this.#preview.change({ release });
    this.#preview.report();
    this.#follow(release);
    if (earlier !== null) void this.#supersede(earlier, releaseId);
  }

  /** Ends an older release. If it cannot be ended now, the newer one waits for its end. */
  async #supersede(earlier: PreviewRelease, by: string): Promise<void> {
    try {
      await this.#withdraw(earlier, `superseded by a newer push, ${by}`);
    } catch (error) {
      if (explain(error).canceled) throw error;
    }
  }

  async #withdraw({ submissions }: PreviewRelease, reason: string): Promise<void> {
    const { target, recordStore, name } = this.#preview.spec;
    const by = { who: 'slipway', from: `preview ${name}`, reason };
    const activities = activitiesOf('promote', SHORTLY, 'end the release');
    for (const submission of submissions)
      await activities.withdrawSubmission({ target, recordStore, submission, by });
  }

  #follow(release: PreviewRelease): void {
    this.#following++;
    void this.#scope
      .run(() => outcomeOf(this.#preview.spec, release))
      .then(
        ({ ending, result }) => this.#ended(release, ending, result),
        (error: unknown) => this.#lost(release, explain(error).message),
      )
      .finally(() => this.#following--);
  }

  #ended({ releaseId }: PreviewRelease, last: PreviewEnding, result: ReleaseResult | null): void {
    const mayAppearUntil = result?.mayAppearUntil;
    if (mayAppearUntil !== undefined) this.#preview.change({ mayAppearUntil });
    const { state } = this.#preview;
    // Only the newest release is shown.
    if (state.release?.releaseId !== releaseId) return;
    this.#preview.change({ release: null, last, agentUrl: result?.agentUrl ?? state.agentUrl });
    if (state.removal !== null) return;
    this.#preview.report();
    if (last.outcome === 'released') this.#judge(releaseId);
  }

  #judge(releaseId: string): void {
    const { spec } = this.#preview;
    const { judge } = spec;
    if (judge === undefined) return;
    this.#judging++;
    this.#judgement = new CancellationScope();
    void this.#judgement
      .run(() => judgePreview(spec, judge, releaseId))
      .then(
        (judgement) => {
          const { last } = this.#preview.state;
          if (last?.releaseId !== releaseId) return;
          this.#preview.change({ last: { ...last, judgement } });
          this.#preview.report();
        },
        // Canceled.
        () => undefined,
      )
      .finally(() => this.#judging--);
  }

  /** Records a release with an unknown outcome, because its target was ended. */
  #lost({ releaseId, commit }: PreviewRelease, reason: string): void {
    this.#ended(
      { releaseId, commit, submissions: [] },
      { releaseId, commit, outcome: 'errored', reason, verdicts: [] },
      null,
    );
  }
}

/** If the target's worker is down, the next attempt of the removal asks again. */
const SHORTLY = { promote: { scheduleToCloseMs: 60_000 } } as const;

/** Waits for the end of a release. One that never started has no workflow of its own. */
async function outcomeOf(
  { target, recordStore }: PreviewSpec,
  { releaseId, commit }: PreviewRelease,
): Promise<{ readonly ending: PreviewEnding; readonly result: ReleaseResult | null }> {
  const activities = activitiesOf('promote', {}, releaseId);
  const { row } = await activities.awaitRelease({ target, recordStore, id: releaseId });
  const result = row.startedAt === undefined ? null : await resultOf(target, row);
  const { outcome, reason } = row;
  const verdicts = (result?.verdicts ?? []).map(({ check, passed, reasons, scores }) => ({
    check,
    passed,
    reasons,
    scored: scores === undefined ? undefined : scoresText(scores),
  }));
  return { ending: { releaseId, commit, outcome, reason, verdicts }, result };
}

/** @returns `null` if the release's workflow ended without a result. Then only the target's row exists. */
async function resultOf(target: TargetSpec, { releaseId }: HistoryRow): Promise<ReleaseResult | null> {
  const workflowId = `${targetWorkflowId(target)}/${releaseId}`;
  try {
    return (await activitiesOf('promote', {}, `read ${releaseId}`).awaitWork({ workflowId })).result;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return null;
  }
}

/** Compares what serves on a preview with what serves on the target that it copies. A failure is its verdict. */
async function judgePreview(
  { target, recordStore }: PreviewSpec,
  { settings, inputs, baseline }: PreviewJudge,
  releaseId: string,
): Promise<PreviewJudgement> {
  const summary = `${releaseId} against what serves on ${baseline.name}`;
  try {
    const seen = await activitiesOf('candidate', {}, summary).lookAtLine({
      from: target,
      to: baseline,
      downstream: [],
      store: recordStore,
    });
    const sides = { baseline: sideOf(baseline, seen.line.to), candidate: sideOf(target, seen.line.from) };
    if (sides.baseline === null || sides.candidate === null) {
      const missing = sides.baseline === null ? baseline : target;
      return unjudged(baseline, `nothing that can be asked serves on ${missing.name}`);
    }
    const { report } = await activitiesOf('judge', {}, summary).judgeCandidate({
      judgementId: `previews/${target.name}/${workflowInfo().runId}-${releaseId}`,
      store: recordStore,
      inputs,
      settings: { ...settings, seed: Math.floor(Math.random() * 2 ** 32) },
      sides: { baseline: sides.baseline, candidate: sides.candidate },
    });
    return { baseline: baseline.name, verdict: report.verdict, reasons: report.reasons };
  } catch (error) {
    const { canceled, message } = explain(error);
    if (canceled) throw error;
    return unjudged(baseline, message);
  }
}

function sideOf(target: TargetSpec, { servingRevisionId, deploymentId, agentUrl }: TargetSeen) {
  if (servingRevisionId === null || deploymentId === null || agentUrl === null) return null;
  return { target, revisionId: servingRevisionId, deploymentId, agentUrl };
}

function unjudged({ name }: TargetSpec, reason: string): PreviewJudgement {
  return { baseline: name, verdict: null, reasons: [reason] };
}
