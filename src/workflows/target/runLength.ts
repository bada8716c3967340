import { allHandlersFinished, condition, setHandler, workflowInfo } from '@temporalio/workflow';

import { renewSignal } from '../../messages/target.ts';

/** With the messages that arrive during one release, a history stays under 2,000 events. */
const CONTINUE_AS_NEW_AFTER_EVENTS = 1_500;
/** The factor by which waiting rollbacks may lengthen a run, because they run before it continues as new. */
const EXHAUSTED_AT = 4;

/**
 * Decides when a run of a target should continue as new, and when it can do so without losing an answer.
 *
 * A run cannot end while signals arrive faster than it can complete a task: the server delivers the signals first.
 * The server accepts at most 10,000 signals for one run (`history.maximumSignalsPerExecution`) and refuses further
 * ones until the next run begins. So a history stays below 51,200 events, the length at which the server would
 * terminate it.
 */
export class RunLength {
  readonly #limit: number;
  #length = 0;
  #isSuggested = false;
  #isRenewed = false;
  /** The length of the history in the workflow task that accepted the last update. */
  #updateTakenAt = 0;

  /**
   * @param limit - continue as new at this length. Default: when the server suggests it, at the latest after 1,500
   * events.
   */
  constructor(limit = CONTINUE_AS_NEW_AFTER_EVENTS) {
    this.#limit = limit;
    setHandler(renewSignal, () => void (this.#isRenewed = true), { description: 'Continue as a new run' });
  }

  /**
   * Notes the length of the history. Call it only when an event made the workflow progress. A task that only rejects
   * an update also lengthens the history, but that task is missing when the workflow is replayed.
   */
  note(): void {
    const { historyLength, continueAsNewSuggested } = workflowInfo();
    this.#length = historyLength;
    this.#isSuggested = continueAsNewSuggested;
  }

  updateTaken(): void {
    this.note();
    this.#updateTakenAt = this.#length;
  }

  get isReached(): boolean {
    return this.#length >= this.#limit || this.#isSuggested || this.#isRenewed;
  }

  /** Whether to continue as new even if rollbacks wait: so many that no person waits for one. */
  get isExhausted(): boolean {
    return this.#length >= this.#limit * EXHAUSTED_AT;
  }

  /**
   * Waits until this run can end without losing an answer or a message; `false` if something came that goes first. A
   * run never ends in the workflow task that completes an update, because the answer would be lost. A replay may
   * merge two tasks, so that their history lengths mean nothing, but it never merges the task in which a timer fired.
   */
  async canEnd(goesFirst: () => boolean): Promise<boolean> {
    await condition(allHandlersFinished);
    if (await condition(goesFirst, 1)) return false;
    return !this.#answerIsOnItsWay && allHandlersFinished() && !goesFirst();
  }

  get #answerIsOnItsWay(): boolean {
    return this.#updateTakenAt === workflowInfo().historyLength;
  }
}
