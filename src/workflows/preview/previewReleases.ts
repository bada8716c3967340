import { CancellationScope, condition } from '@temporalio/workflow';

import type {
  PreviewEnding,
  PreviewRelease,
  PreviewSpec,
  PreviewState,
} from '../../domain/preview/preview.ts';
import type { ReleaseRequest, ReleaseResult } from '../../domain/release/release.ts';
import { type TargetSpec, targetWorkflowId } from '../../domain/target/targetSpec.ts';
import type { HistoryRow, ReleaseAnswer } from '../../domain/target/targetState.ts';
import { explain } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

/** What the releases read and change. */
interface Released {
  readonly spec: PreviewSpec;
  readonly state: PreviewState;
  change(next: Partial<PreviewState>): void;
  report(): void;
}

/** How long a removal waits for the release that it ends, in milliseconds: a restore may be under way. */
const END_WITHIN_MS = 600_000;

/** The releases of a preview: each by the preview's target; a newer push ends the release of an older one. */
export class PreviewReleases {
  readonly #preview: Released;
  #submitting = 0;
  #following = 0;
  #scope = new CancellationScope();

  constructor(preview: Released) {
    this.#preview = preview;
  }

  /** Whether no release is queued, runs, or is on its way. */
  get isIdle(): boolean {
    return this.#submitting === 0 && this.#following === 0 && this.#preview.state.release === null;
  }

  /** Follows the release that an earlier run of the workflow left. */
  resume(): void {
    const { release } = this.#preview.state;
    if (release !== null) this.#follow(release);
  }

  /** Queues a release, and ends the one of an earlier push. */
  async submit(submission: string, request: ReleaseRequest): Promise<ReleaseAnswer> {
    this.#submitting++;
    try {
      const summary = `release ${request.commit?.slice(0, 12) ?? 'a push'}`;
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

  /** Ends the release that is queued or runs, and waits for that. One that does not end in time is left to its target's end. */
  async end(because: string): Promise<void> {
    await condition(() => this.#submitting === 0);
    const { release } = this.#preview.state;
    if (release === null) return;
    await this.#withdraw(release, `the preview is removed: ${because}`);
    await condition(() => this.#preview.state.release === null, END_WITHIN_MS);
  }

  /** Stops following: the target is gone. */
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
    this.#preview.change({ release });
    this.#preview.report();
    this.#follow(release);
    if (earlier !== null) void this.#supersede(earlier, releaseId);
  }

  /** A release that cannot be ended now ends by itself, and the newer one waits for it. */
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
    const { target } = this.#preview.spec;
    void this.#scope
      .run(() => outcomeOf(target, release))
      .then(
        ({ ending, agentUrl }) => this.#ended(release, ending, agentUrl),
        (error: unknown) => this.#lost(release, explain(error).message),
      )
      .finally(() => this.#following--);
  }

  #ended({ releaseId }: PreviewRelease, last: PreviewEnding, agentUrl: string | null): void {
    const { state } = this.#preview;
    // The newest release is what the preview is about.
    if (state.release?.releaseId !== releaseId) return;
    this.#preview.change({ release: null, last, agentUrl: agentUrl ?? state.agentUrl });
    if (state.removal === null) this.#preview.report();
  }

  /** What became of the release is not known: its target was ended. */
  #lost({ releaseId, commit }: PreviewRelease, reason: string): void {
    this.#ended(
      { releaseId, commit, submissions: [] },
      { releaseId, commit, outcome: 'errored', reason, verdicts: [] },
      null,
    );
  }
}

/** A target whose worker is away is asked again by the next attempt of the removal. */
const SHORTLY = { promote: { scheduleToCloseMs: 60_000 } } as const;

/** Waits for the end of a release. One that never started has no workflow of its own. */
async function outcomeOf(
  target: TargetSpec,
  { releaseId, commit }: PreviewRelease,
): Promise<{ readonly ending: PreviewEnding; readonly agentUrl: string | null }> {
  const activities = activitiesOf('promote', {}, releaseId);
  const { row } = await activities.awaitRelease({ target, id: releaseId });
  const result = row.startedAt === undefined ? null : await resultOf(target, row);
  const { outcome, reason } = row;
  const verdicts = (result?.verdicts ?? []).map(({ check, passed, reasons }) => ({ check, passed, reasons }));
  return { ending: { releaseId, commit, outcome, reason, verdicts }, agentUrl: result?.agentUrl ?? null };
}

/** @returns `null` if the workflow of the release ended without a result: the target's row is all there is. */
async function resultOf(target: TargetSpec, { releaseId }: HistoryRow): Promise<ReleaseResult | null> {
  const workflowId = `${targetWorkflowId(target)}/${releaseId}`;
  try {
    return (await activitiesOf('promote', {}, `read ${releaseId}`).awaitWork({ workflowId })).result;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return null;
  }
}
