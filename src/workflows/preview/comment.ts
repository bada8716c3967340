import { commentMarker, commentText } from '../../domain/preview/commentText.ts';
import type { PreviewResult, PreviewSpec, PreviewState } from '../../domain/preview/preview.ts';
import { explain } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

interface Commented {
  readonly spec: PreviewSpec;
  readonly state: PreviewState;
  change(next: Partial<PreviewState>): void;
}

/** Writes the comment on the pull request, one call at a time. The next call writes all changes made meanwhile. */
export class PreviewComment {
  readonly #preview: Commented;
  #wanted = 0;
  #written = 0;
  #isWriting = false;
  #result: PreviewResult | null = null;

  constructor(preview: Commented) {
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
