import { CancellationScope, isCancellation } from '@temporalio/workflow';

import { skippable, type StandingRequest, stepOfSkip } from '../../domain/intervention/standing.ts';

/** The parts of a release or a promotion that a person may skip, and those that were skipped. */
export class Skips {
  readonly #forward: CancellationScope;
  readonly #skipped = new Set<string>();
  readonly #underWay = new Map<string, CancellationScope>();
  #ahead: readonly string[];

  /** @param forward - the scope of the forward steps: a part that this scope cancels was not skipped. */
  constructor(request: StandingRequest, forward: CancellationScope) {
    this.#forward = forward;
    this.#ahead = skippable(request);
  }

  /** The parts that a person may skip now. */
  get ahead(): readonly string[] {
    return this.#ahead.filter((what) => !this.#skipped.has(what));
  }

  get checks(): readonly string[] {
    return [...this.#skipped].filter((what) => stepOfSkip(what) === 'check');
  }

  has(what: string): boolean {
    return this.#skipped.has(what);
  }

  add(what: string): void {
    this.#skipped.add(what);
    this.#underWay.get(what)?.cancel();
  }

  /** Notes that a part has ended or was skipped. */
  pass(what: string): void {
    this.#ahead = this.#ahead.filter((other) => other !== what);
  }

  /** Runs a part. Returns at once if a person skips it meanwhile. */
  async run(what: string, part: () => Promise<void>): Promise<void> {
    // A freeze may come again.
    if (!this.#ahead.includes(what)) this.#ahead = [what, ...this.#ahead];
    const scope = new CancellationScope();
    this.#underWay.set(what, scope);
    try {
      await scope.run(part);
    } catch (error) {
      const isSkip = this.has(what) && !this.#forward.consideredCancelled;
      if (!isSkip || !isCancellation(error)) throw error;
    } finally {
      this.#underWay.delete(what);
    }
  }
}
