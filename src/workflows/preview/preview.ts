import {
  allHandlersFinished,
  CancellationScope,
  condition,
  currentUpdateInfo,
  makeContinueAsNewFunc,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import { commentMarker, commentText } from '../../domain/preview/commentText.ts';
import { exactText } from '../../domain/scalars.ts';
import {
  newPreview,
  type PreviewAnswer,
  type PreviewPush,
  type PreviewResult,
  type PreviewSpec,
  type PreviewState,
  removalPauseMs,
  renewed,
  specOf,
  summarize,
} from '../../domain/preview/preview.ts';
import { previewWorkflowId } from '../../domain/preview/previewName.ts';
import { readSender } from '../../messages/fields.ts';
import { previewQuery, pushPreviewUpdate, readPush, removePreviewSignal } from '../../messages/preview.ts';
import type { PreviewInput, PreviewWorkflow } from '../../messages/workflowTypes.ts';
import { explain, refuse } from '../failure.ts';
import { activitiesOf } from '../steps.ts';
import { RunLength } from '../target/runLength.ts';
import { takeUnknownSignals } from '../unknownSignals.ts';
import { PreviewReleases } from './previewReleases.ts';
import { removeDeployment } from './removeDeployment.ts';

/**
 * Owns one preview, the deployment of a pull request. It releases each push through the preview's target, and removes
 * everything at the deadline, on request, or on cancellation. No CI job has to run for that.
 */
export function preview(input: PreviewInput): Promise<PreviewResult> {
  const root = CancellationScope.current();
  return CancellationScope.nonCancellable(() => {
    const subject = new Preview(input);
    handlePreviewMessages(subject);
    void root.cancelRequested.catch(() =>
      subject.askRemoval({ who: 'unknown', from: 'temporal', reason: 'its workflow was canceled' }),
    );
    return subject.run();
  });
}

function handlePreviewMessages(subject: Preview): void {
  setHandler(
    pushPreviewUpdate,
    (push) => {
      const id = currentUpdateInfo()?.id ?? '';
      // A cancellation removes the preview, but does not interrupt a push in progress.
      return CancellationScope.nonCancellable(() => subject.push(id, push));
    },
    {
      description: 'Release a push as the preview, and renew its deadline',
      validator: (raw) => {
        const push = readPush(raw);
        if (typeof push === 'string') refuse(push);
        const { workflowId } = workflowInfo();
        if (previewWorkflowId(push.request.target) !== workflowId)
          refuse(`the release goes to another deployment than that of ${workflowId}`);
      },
    },
  );
  setHandler(
    removePreviewSignal,
    (raw) => {
      const by = readSender(raw, 'signal');
      if (typeof by !== 'string') subject.askRemoval(by);
    },
    { description: 'Remove the preview now' },
  );
  setHandler(previewQuery, () => subject.state, { description: 'Deadline, releases, removal' });
}

class Preview {
  readonly #input: PreviewInput;
  readonly #runLength: RunLength;
  readonly #comment = new PreviewComment(this);
  readonly #releases = new PreviewReleases(this);
  #spec: PreviewSpec;
  #state: PreviewState;
  #waiting = 0;
  /** How often a removal was requested: that ends the pushes that waited. */
  #removalsAsked = 0;
  #shown = '';

  constructor(input: PreviewInput) {
    this.#input = input;
    this.#spec = input.spec;
    this.#state = input.state ?? newPreview(Date.now(), input.spec.ttlMs);
    this.#runLength = new RunLength(input.continueAsNewAfterEvents);
  }

  get spec(): PreviewSpec {
    return this.#spec;
  }

  get state(): PreviewState {
    return this.#state;
  }

  change(next: Partial<PreviewState>): void {
    this.#state = { ...this.#state, ...next };
    this.#runLength.note();
    this.#show();
  }

  report(): void {
    this.#comment.write(null);
  }

  /** Releases a push. One during a removal waits, and recreates the preview unless another removal is requested. */
  async push(submission: string, push: PreviewPush): Promise<PreviewAnswer> {
    this.#runLength.updateTaken();
    const asked = this.#removalsAsked;
    this.#waiting++;
    await condition(() => this.#state.removal === null || this.#removalsAsked !== asked);
    this.#waiting--;
    if (this.#removalsAsked !== asked)
      refuse('the preview was removed while the push waited', 'SLIPWAY_WRONG_MOMENT');
    this.#spec = specOf(push);
    this.change(renewed(this.#state, Date.now(), this.#spec.ttlMs));
    try {
      const answer = await this.#releases.submit(submission, push.request);
      return { ...answer, expiresAt: this.#state.expiresAt };
    } catch (error) {
      return refuse(`the release could not be queued: ${explain(error).message}`);
    } finally {
      this.#runLength.updateTaken();
    }
  }

  /** Starts the removal, unless it has started. Pushes that wait for its end arrived before, and are not released. */
  askRemoval({ who, reason }: Actor): void {
    this.#removalsAsked++;
    this.#beginRemoval(`${who} removed it${reason === undefined ? '' : `: ${reason}`}`);
  }

  async run(): Promise<PreviewResult> {
    this.#show();
    this.#releases.resume();
    for (;;) {
      await this.#untilRemoval();
      const result = await this.#remove();
      if (result === null) continue;
      this.#comment.write(result);
      await condition(() => (this.#comment.isWritten && allHandlersFinished()) || this.#waiting > 0);
      if (this.#waiting === 0 && (await this.#runLength.canEnd(() => this.#waiting > 0))) return result;
      this.#state = newPreview(Date.now(), this.#spec.ttlMs);
      this.change({});
    }
  }

  async #untilRemoval(): Promise<void> {
    while (this.#state.removal === null) {
      takeUnknownSignals(() => undefined);
      if (this.#isQuiet && this.#runLength.isReached) await this.#continueAsNew();
      const { expiresAt } = this.#state;
      const leftMs = Date.parse(expiresAt) - Date.now();
      // A push for which a failed removal made way has not renewed the deadline yet.
      if (leftMs <= 0 && this.#waiting > 0) await condition(() => this.#waiting === 0);
      else if (leftMs <= 0) this.#beginRemoval(`its deadline passed at ${exactText(expiresAt)}`);
      else {
        await condition(
          () =>
            this.#state.removal !== null ||
            this.#state.expiresAt !== expiresAt ||
            (this.#isQuiet && this.#runLength.isReached),
          leftMs,
        );
      }
    }
  }

  /** @returns `null`: an attempt failed before the deletion, and a push arrived, which keeps the preview. */
  async #remove(): Promise<PreviewResult | null> {
    for (;;) {
      const { removal } = this.#state;
      if (removal === null) return null;
      try {
        await this.#releases.end(removal.because);
        const { agentUrl, mayAppearUntil } = this.#state;
        const before = { ...removal, wasMade: agentUrl !== null, mayAppearUntil };
        const { removed, note } = await removeDeployment(this.#spec.target, before, (progress) =>
          this.change({ removal: { ...(this.#state.removal ?? removal), ...progress } }),
        );
        this.#releases.forget();
        return { removed, reason: `${removal.because}; ${note}` };
      } catch (error) {
        const attempts = removal.attempts + 1;
        const failed = { ...(this.#state.removal ?? removal), attempts, problem: explain(error).message };
        this.change({ removal: failed });
        const isKept = (): boolean => this.#waiting > 0 && failed.deletes !== true;
        if (await condition(isKept, removalPauseMs(attempts))) this.change({ removal: null });
        // A waiting push is answered only after the removal, and a run ends only with all its answers.
        else if (this.#runLength.isReached && this.#waiting === 0) await this.#continueAsNew();
      }
    }
  }

  #beginRemoval(because: string): void {
    if (this.#state.removal === null) this.change({ removal: { because, attempts: 0, problem: null } });
  }

  /** Whether a new run can take over: no comment, push, release or handler is in progress. */
  get #isQuiet(): boolean {
    return this.#comment.isWritten && this.#waiting === 0 && this.#releases.isIdle && allHandlersFinished();
  }

  /** Continues as new if no work would be lost; otherwise returns. */
  async #continueAsNew(): Promise<void> {
    const canEnd = await this.#runLength.canEnd(() => this.#waiting > 0);
    if (!canEnd || !this.#comment.isWritten || !this.#releases.isIdle) return;
    // Lists show the new run even before its first workflow task.
    const memo = { preview: summarize(this.#spec, this.#state) };
    const carryOn = makeContinueAsNewFunc<PreviewWorkflow>({ memo });
    await carryOn({ ...this.#input, spec: this.#spec, state: this.#state });
  }

  #show(): void {
    const summary = summarize(this.#spec, this.#state);
    const shown = JSON.stringify(summary);
    if (shown === this.#shown) return;
    this.#shown = shown;
    upsertMemo({ preview: summary });
    const { phase, expiresAt, problem } = summary;
    setCurrentDetails(
      `**#${summary.pr}**: ${phase}, expires ${exactText(expiresAt)}${problem === null ? '' : `: ${problem}`}`,
    );
  }
}

/** Writes the comment on the pull request, one call at a time. The next call writes all changes made meanwhile. */
class PreviewComment {
  readonly #preview: Preview;
  #wanted = 0;
  #written = 0;
  #isWriting = false;
  #result: PreviewResult | null = null;

  constructor(preview: Preview) {
    this.#preview = preview;
  }

  get isWritten(): boolean {
    return this.#written === this.#wanted;
  }

  /** Schedules a write of the comment. @param result - how the preview ended. `null`: it has not. */
  write(result: PreviewResult | null): void {
    if (this.#preview.spec.comment === undefined) return;
    this.#result = result;
    this.#wanted++;
    if (!this.#isWriting) void this.#keepUp();
  }

  async #keepUp(): Promise<void> {
    this.#isWriting = true;
    while (!this.isWritten) {
      const wanted = this.#wanted;
      const problem = await this.#writeOnce();
      this.#written = wanted;
      if (problem !== this.#preview.state.commentProblem) this.#preview.change({ commentProblem: problem });
    }
    this.#isWriting = false;
  }

  /** @returns why it could not be written. `null`: it was. */
  async #writeOnce(): Promise<string | null> {
    const { spec, state } = this.#preview;
    const { comment, pr, target } = spec;
    if (comment === undefined) return null;
    try {
      const activities = activitiesOf('notify', {}, `comment on #${pr}`);
      const body = commentText(spec, state, this.#result);
      await activities.writeComment({
        comment,
        pr,
        marker: commentMarker({ name: spec.name, target }),
        body,
      });
      return null;
    } catch (error) {
      return explain(error).message;
    }
  }
}
