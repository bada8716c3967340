import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';

/** With what is said while one release runs, a history stays under 2,000 events. */
const CONTINUE_AS_NEW_AFTER_EVENTS = 1_500;
/** By how much a run may be longer than that because rollbacks wait, which do not wait for a new run. */
const EXHAUSTED_AT = 4;

/**
 * How long one run of a target gets, and when it can end without losing what it owes.
 *
 * What it cannot do is end while signals arrive faster than it ends: then the server gives it the signals first, each
 * time. Signals without end do not keep it for good all the same: the server takes at most 10,000 of them for one run
 * (`history.maximumSignalsPerExecution`) and refuses the others until the next run begins, so that a history stays below
 * the length at which the server would end it (51,200 events).
 */
export class RunLength {
  readonly #given: number | undefined;
  #length = 0;
  #isSuggested = false;
  /** The length of the history in the workflow task that took the last update. */
  #updateTakenAt = 0;

  /** @param limit - carry on once the history is this long. Default: when the server suggests it, at the latest 1,500. */
  constructor(limit: number | undefined) {
    this.#given = limit;
  }

  /**
   * Notes how long the history is. To be called only where the history itself has brought the workflow on: a task that
   * does no more than refuse an update makes the history longer, too, but it is not there when the workflow is rebuilt.
   */
  note(): void {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    this.#length = historyLength;
    this.#isSuggested = continueAsNewSuggested;
  }

  /** Notes that this workflow task takes an update. */
  updateTaken(): void {
    this.note();
    this.#updateTakenAt = this.#length;
  }

  /** Whether it is time to carry on as a new run. */
  get isReached(): boolean {
    return this.#length >= this.#limit || this.#isSuggested;
  }

  /** Whether it is time even where rollbacks wait: by then so many have come in a row that nobody waits for one. */
  get isExhausted(): boolean {
    return this.#length >= this.#limit * EXHAUSTED_AT;
  }

  /**
   * Waits until this run can end without losing what it owes; `false` where something came meanwhile that goes first.
   * Never in the workflow task that completes an update: its answer would be lost. A replay may make one of two tasks,
   * and then their lengths mean nothing; but never of the one in which a timer fired.
   */
  async canEnd(goesFirst: () => boolean): Promise<boolean> {
    await condition(allHandlersFinished);
    if (await condition(goesFirst, 1)) return false;
    return !this.#answerIsOnItsWay && allHandlersFinished() && !goesFirst();
  }

  get #limit(): number {
    return this.#given ?? CONTINUE_AS_NEW_AFTER_EVENTS;
  }

  get #answerIsOnItsWay(): boolean {
    return this.#updateTakenAt === workflowInfo().historyLength;
  }
}
