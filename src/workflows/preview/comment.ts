import { commentMarker, commentText } from '../../domain/preview/commentText.ts';
import type { PreviewResult, PreviewSpec, PreviewState } from '../../domain/preview/preview.ts';
import { explain } from '../failure.ts';
import { activitiesOf } from '../steps.ts';

/** What the comment reads and changes. */
interface Commented {
  readonly spec: PreviewSpec;
  readonly state: PreviewState;
  change(next: Partial<PreviewState>): void;
}

/** The comment on the pull request. One writing at a time; what changed meanwhile is written next, once. */
export class PreviewComment {
  readonly #preview: Commented;
  #wanted = 0;
  #written = 0;
  #isWriting = false;
  #result: PreviewResult | null = null;

  constructor(preview: Commented) {
    this.#preview = preview;
  }

  /** Whether nothing remains to be written. */
  get isWritten(): boolean {
    return this.#written === this.#wanted;
  }

  /** Asks for the comment to be written. @param result - how the preview ended. `null`: it has not. */
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
