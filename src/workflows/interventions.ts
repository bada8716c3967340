import {
  CancellationScope,
  type CancelledFailure,
  condition,
  isCancellation,
  uuid4,
} from '@temporalio/workflow';

import { formatDuration } from '../domain/duration.ts';
import { couldNotTell } from '../domain/failure.ts';
import { FREEZE, JUDGE, SOAK } from '../domain/intervention.ts';
import type { ErrorPolicy, Waiting } from '../domain/release.ts';
import { explain, type StepFailure } from './failure.ts';
import { type Journal, now } from './journal.ts';
import { type IntervenedRequest, WhatWasSaid } from './whatWasSaid.ts';

/** How long a person is waited for who must say whether to go on. */
const ASK_MAX_MS = 24 * 3_600_000;
const ROLL_BACK: ErrorPolicy = { then: 'rollback', waitMs: 0 };

/**
 * What a release under way does about what people say: stands between the parts of the way forward, which begin only
 * when nobody has said otherwise, and waits for people. Every wait has an end.
 */
export class Interventions {
  readonly #journal: Journal;
  readonly #request: IntervenedRequest;
  readonly #forward: CancellationScope;
  readonly #said: WhatWasSaid;
  readonly #onPersonAwaited: (waiting: Waiting) => void;

  /**
   * @param forward - the scope of the way forward, which an abort cancels.
   * @param onPersonAwaited - told when somebody has to approve, or to decide. It must not wait.
   */
  constructor(
    journal: Journal,
    request: IntervenedRequest,
    forward: CancellationScope,
    onPersonAwaited: (waiting: Waiting) => void,
  ) {
    this.#journal = journal;
    this.#request = request;
    this.#forward = forward;
    this.#onPersonAwaited = onPersonAwaited;
    this.#said = new WhatWasSaid(journal, request, forward);
  }

  /** Why the release was told to stop, or stopped by itself; `null` where nobody did. */
  get stopReason(): string | null {
    return this.#said.stopReason;
  }

  /** The checks that were left out. */
  get skippedChecks(): readonly string[] {
    return [...this.#said.skipped].filter((what) => what !== SOAK && what !== FREEZE && what !== JUDGE);
  }

  /** Whether a person said to leave it out. */
  wasSkipped(what: string): boolean {
    return this.#said.skipped.has(what);
  }

  /** Records a pre-emption that is not acted upon. */
  ignorePreemption(reason: string): void {
    const by = { who: 'unknown', from: 'signal' };
    this.#journal.intervention({ id: uuid4(), kind: 'preempt', by, at: now(), taken: false, note: reason });
  }

  /** From now on an earlier revision is put back, or the release has ended: there is nothing more to say to it. */
  enter(phase: 'restoring' | 'ended'): void {
    this.#said.enter(phase);
  }

  /** Waits while a person has paused it. Between two parts of the way, and after the last. */
  async passage(): Promise<void> {
    const said = this.#said;
    while (said.paused) {
      const note = 'paused: no further step begins';
      if (await this.#waitFor('resume', said.pauseMs, note, () => !said.paused)) continue;
      throw said.stop(`paused for longer than ${formatDuration(said.pauseMs)}`);
    }
  }

  /**
   * Goes one part of the way: not while the release is paused; and where it cannot be told how the part went, as the
   * request's policy has it.
   *
   * @param part - told whether it is taken up again.
   */
  async go<T>(part: (again: boolean) => Promise<T>): Promise<T> {
    for (let again = false; ; again = true) {
      await this.passage();
      try {
        return await part(again);
      } catch (error) {
        if ((await this.#decide(error, null)) !== 'retry') throw error;
      }
    }
  }

  /** Goes one part of the way that a person may leave out, such as a check. */
  async goOrSkip(what: string, part: () => Promise<void>): Promise<void> {
    while (!this.wasSkipped(what)) {
      await this.passage();
      try {
        if (!this.wasSkipped(what)) await this.#cancelable(what, part);
        break;
      } catch (error) {
        if ((await this.#decide(error, what)) === null) throw error;
      }
    }
    this.#said.passed(what);
    if (this.wasSkipped(what)) this.#journal.skipped(stepOf(what), what);
  }

  /** Lets time pass until a freeze has ended, in milliseconds since 1970. */
  async whileFrozen(until: number, note: string): Promise<void> {
    await this.#waitFor('freeze', Math.max(until - Date.now(), 1), note, () => false);
  }

  /** Ends the release before anything is changed, for a reason of its own. */
  turnAway(reason: string): CancelledFailure {
    return this.#said.stop(reason);
  }

  /** Waits until those who must approve have. */
  async approval(): Promise<void> {
    const policy = this.#request.approval;
    if (policy === undefined || policy.required <= 0) return;
    const { required, withinMs, approvers } = policy;
    const said = this.#said;
    const answered = (): boolean => said.approvals >= required || said.rejectedBy !== null;
    const note = `${required === 1 ? 'one approval is' : `${required} approvals are`} needed before anything is changed`;
    const inTime = await this.#waitFor('approval', withinMs, note, answered, approvers);
    if (said.rejectedBy !== null) throw said.stop(`rejected by ${said.rejectedBy}`);
    if (!inTime && policy.otherwise !== 'approve') {
      throw said.stop(`approved by ${said.approvals} of ${required} within ${formatDuration(withinMs)}`);
    }
  }

  /** Notes who made what is to be approved: they do not approve it. */
  isMadeBy(who: string): void {
    this.#said.isMadeBy(who);
  }

  /**
   * Asks a person whether to go on; where nobody says `retry` in time, the release ends.
   *
   * @param skippable - what a `skip` may leave out.
   */
  async ask(note: string, skippable: string | null = null): Promise<void> {
    if (await this.decision(note, ASK_MAX_MS, skippable)) return;
    throw this.#said.stop(`nobody said within ${formatDuration(ASK_MAX_MS)} whether to go on`);
  }

  /** Lets a person say `retry`, or `skip`, for so long. @returns whether anybody did. */
  async decision(note: string, forMs: number, skippable: string | null): Promise<boolean> {
    const said = this.#said;
    said.needsDecision(skippable);
    try {
      return await this.#waitFor('decision', forMs, note, () => said.decided !== null);
    } finally {
      said.needsNoDecision();
    }
  }

  /** What a person decides where it cannot be told how a part went; `null`: it is not waited for, or nobody did. */
  async #decide(error: unknown, skippable: string | null): Promise<'retry' | 'skip' | null> {
    const failure = explain(error);
    const policy = this.#request.onError ?? ROLL_BACK;
    if (failure.canceled || !couldNotTell(failure.code) || policy.then !== 'wait') return null;
    await this.decision(decisionNote(failure, skippable), policy.waitMs, skippable);
    return this.#said.decided;
  }

  async #cancelable(what: string, part: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    this.#said.begins(what, scope);
    try {
      await scope.run(part);
    } catch (error) {
      const isSkip = this.wasSkipped(what) && !this.#forward.consideredCancelled;
      if (!isSkip || !isCancellation(error)) throw error;
    } finally {
      this.#said.ends(what);
    }
  }

  /** Waits for a person, or for time to pass, for so long. @returns whether they came in time. */
  async #waitFor(
    what: Waiting['for'],
    forMs: number,
    note: string,
    arrived: () => boolean,
    approvers?: readonly string[],
  ): Promise<boolean> {
    const person = what === 'approval' || what === 'decision' ? what : null;
    this.#said.awaits(person);
    const since = Date.now();
    const waiting: Waiting = {
      for: what,
      since: new Date(since).toISOString(),
      until: new Date(since + forMs).toISOString(),
      note,
      ...(approvers === undefined ? {} : { approvers }),
    };
    this.#journal.waiting(waiting);
    if (person !== null) this.#onPersonAwaited(waiting);
    try {
      return await condition(() => {
        this.#journal.tellUnknownSignals();
        return arrived();
      }, forMs);
    } finally {
      this.#said.awaits(null);
      this.#journal.waiting(null);
    }
  }
}

/** The step that a `skip` leaves out. */
function stepOf(what: string): 'freeze' | 'soak' | 'judge' | 'check' {
  return what === FREEZE || what === SOAK || what === JUDGE ? what : 'check';
}

function decisionNote({ message }: StepFailure, skippable: string | null): string {
  const choices = skippable === null ? '"retry" or "abort"' : `"retry", "abort", or "skip" of "${skippable}"`;
  return `could not tell how it went (${message}): say ${choices}`;
}
