import { CancellationScope, isCancellation } from '@temporalio/workflow';

import { FREEZE, JUDGE, SOAK } from '../../domain/intervention/intervention.ts';
import type { IntervenedRequest } from './intervenedRequest.ts';

/** What a person may leave out of a release or a promotion, and what they did leave out. */
export class Skips {
  readonly #forward: CancellationScope;
  readonly #skipped = new Set<string>();
  /** The parts under way, which a skip cancels. */
  readonly #underWay = new Map<string, CancellationScope>();
  /** The parts that are still to come, or under way. */
  #ahead: readonly string[];

  /** @param forward - the scope of the way forward: a part that ends with it was not left out. */
  constructor(request: IntervenedRequest, forward: CancellationScope) {
    this.#forward = forward;
    this.#ahead = [
      ...((request.freezes ?? []).length > 0 ? [FREEZE] : []),
      ...request.checks.map((check) => check.name),
      ...(request.soakMs > 0 ? [SOAK] : []),
      ...(request.judged === true ? [JUDGE] : []),
    ];
  }

  /** The parts that a person may leave out now. */
  get ahead(): readonly string[] {
    return this.#ahead.filter((what) => !this.#skipped.has(what));
  }

  /** The checks that were left out. */
  get checks(): readonly string[] {
    return [...this.#skipped].filter((what) => what !== SOAK && what !== FREEZE && what !== JUDGE);
  }

  /** Whether a person left it out. */
  has(what: string): boolean {
    return this.#skipped.has(what);
  }

  /** Leaves a part out, and cancels it if it is under way. */
  add(what: string): void {
    this.#skipped.add(what);
    this.#underWay.get(what)?.cancel();
  }

  /** Notes that a part has ended, or was left out. */
  pass(what: string): void {
    this.#ahead = this.#ahead.filter((other) => other !== what);
  }

  /** Goes a part of the way. Returns at once if it is left out meanwhile. */
  async run(what: string, part: () => Promise<void>): Promise<void> {
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
