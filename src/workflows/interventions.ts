import {
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  setHandler,
  uuid4,
} from '@temporalio/workflow';

import { formatDuration } from '../domain/duration.ts';
import { couldNotTell } from '../domain/failure.ts';
import {
  INTERVENTION_KINDS,
  type Intervention,
  type InterventionAnswer,
  type InterventionKind,
  interventionProblem,
  SOAK,
  type Standing,
  whatIsSkipped,
} from '../domain/intervention.ts';
import { readInterventionMessage } from '../domain/message.ts';
import { type ErrorPolicy, type ReleaseRequest, type Waiting } from '../domain/release.ts';
import { explain, refuse, type StepFailure } from './failure.ts';
import { type Journal, now } from './journal.ts';
import { INTERVENTION_SIGNALS, INTERVENTION_UPDATES } from './messages.ts';

/** How long a release stays paused before it is aborted: a forgotten pause must not hold its target for ever. */
const PAUSE_MAX_MS = 24 * 3_600_000;
const ROLL_BACK: ErrorPolicy = { then: 'rollback', waitMs: 0 };

/**
 * What people say to a release under way, and what it does about it: takes the updates and signals, and stands between
 * the parts of the way forward, which begin only when nobody has said otherwise.
 *
 * Every wait has an end, and so a timer: what a workflow with updates waits for must end in a command (`target.ts`).
 */
export class Interventions {
  readonly #journal: Journal;
  readonly #request: ReleaseRequest;
  readonly #forward: CancellationScope;
  readonly #answers = new Map<string, InterventionAnswer>();
  readonly #skippable = new Map<string, CancellationScope>();
  readonly #skipped = new Set<string>();
  readonly #approvedBy: string[] = [];
  #phase: Standing['phase'] = 'forward';
  #paused = false;
  #awaiting: Standing['awaiting'] = null;
  #undecided: string | null = null;
  #decided: 'retry' | 'skip' | null = null;
  #rejection: Intervention | null = null;
  #ahead: readonly string[];
  #stopReason: string | null = null;

  /** @param forward - the scope of the way forward, which an abort cancels. */
  constructor(journal: Journal, request: ReleaseRequest, forward: CancellationScope) {
    this.#journal = journal;
    this.#request = request;
    this.#forward = forward;
    this.#ahead = [...request.checks.map((check) => check.name), ...(request.soakMs > 0 ? [SOAK] : [])];
    for (const kind of INTERVENTION_KINDS) {
      setHandler(INTERVENTION_UPDATES[kind], (message) => this.#take(message, kind, 'update'), {
        validator: (message) => this.#refuse(message, kind),
      });
      setHandler(INTERVENTION_SIGNALS[kind], (message) => {
        this.#take(message, kind, 'signal');
      });
    }
  }

  /** Why the release was told to stop, or stopped by itself; `null` where nobody did. */
  get stopReason(): string | null {
    return this.#stopReason;
  }

  /** The checks that were left out. */
  get skippedChecks(): readonly string[] {
    return [...this.#skipped].filter((what) => what !== SOAK);
  }

  /** From now on an earlier revision is put back, or the release has ended: there is nothing more to say to it. */
  enter(phase: 'restoring' | 'ended'): void {
    this.#phase = phase;
  }

  /**
   * Goes one part of the way: not while the release is paused; and where it cannot be told how the part went, as the
   * request's policy has it.
   *
   * @param part - told whether it is taken up again.
   */
  async go<T>(part: (again: boolean) => Promise<T>): Promise<T> {
    for (let again = false; ; again = true) {
      await this.#passage();
      try {
        return await part(again);
      } catch (error) {
        if ((await this.#decide(error, null)) !== 'retry') throw error;
      }
    }
  }

  /** Goes one part of the way that a person may leave out, such as a check. */
  async goOrSkip(what: string, part: () => Promise<void>): Promise<void> {
    while (!this.#skipped.has(what)) {
      await this.#passage();
      try {
        if (!this.#skipped.has(what)) await this.#cancelable(what, part);
        break;
      } catch (error) {
        if ((await this.#decide(error, what)) === null) throw error;
      }
    }
    this.#ahead = this.#ahead.filter((other) => other !== what);
    if (this.#skipped.has(what)) this.#journal.skipped(what === SOAK ? 'soak' : 'check', what);
  }

  /** Waits until those who must approve have. */
  async approval(): Promise<void> {
    const policy = this.#request.approval;
    if (policy === undefined || policy.required <= 0) return;
    const { required, withinMs } = policy;
    const agreed = (): boolean => this.#approvedBy.length >= required;
    const note = `${required === 1 ? 'one approval is' : `${required} approvals are`} needed before anything is changed`;
    const inTime = await this.#waitFor(
      'approval',
      withinMs,
      note,
      () => agreed() || this.#rejection !== null,
    );
    if (this.#rejection !== null) throw this.#stop(`rejected by ${told(this.#rejection)}`);
    if (!inTime) {
      throw this.#stop(
        `approved by ${this.#approvedBy.length} of ${required} within ${formatDuration(withinMs)}`,
      );
    }
  }

  async #passage(): Promise<void> {
    while (this.#paused) {
      const note = 'paused: no further step begins';
      if (await this.#waitFor('resume', PAUSE_MAX_MS, note, () => !this.#paused)) continue;
      throw this.#stop(`paused for longer than ${formatDuration(PAUSE_MAX_MS)}`);
    }
  }

  /** What a person decides where it cannot be told how a part went; `null`: it is not waited for, or nobody did. */
  async #decide(error: unknown, skippable: string | null): Promise<'retry' | 'skip' | null> {
    const failure = explain(error);
    const policy = this.#request.onError ?? ROLL_BACK;
    if (failure.canceled || !couldNotTell(failure.code) || policy.then !== 'wait') return null;
    this.#decided = null;
    this.#undecided = skippable;
    await this.#waitFor(
      'decision',
      policy.waitMs,
      decisionNote(failure, skippable),
      () => this.#decided !== null,
    );
    this.#undecided = null;
    return this.#decided;
  }

  async #cancelable(what: string, part: () => Promise<void>): Promise<void> {
    const scope = new CancellationScope();
    this.#skippable.set(what, scope);
    try {
      await scope.run(part);
    } catch (error) {
      const isSkip = this.#skipped.has(what) && !this.#forward.consideredCancelled;
      if (!isSkip || !isCancellation(error)) throw error;
    } finally {
      this.#skippable.delete(what);
    }
  }

  /** Waits for a person, for so long. @returns whether they came in time. */
  async #waitFor(
    what: Waiting['for'],
    forMs: number,
    note: string,
    arrived: () => boolean,
  ): Promise<boolean> {
    this.#awaiting = what === 'resume' ? null : what;
    const since = Date.now();
    this.#journal.waiting({
      for: what,
      since: new Date(since).toISOString(),
      until: new Date(since + forMs).toISOString(),
      note,
    });
    try {
      return await condition(arrived, forMs);
    } finally {
      this.#awaiting = null;
      this.#journal.waiting(null);
    }
  }

  #stop(reason: string): CancelledFailure {
    this.#stopReason ??= reason;
    this.#forward.cancel();
    return new CancelledFailure(reason);
  }

  #take(raw: unknown, kind: InterventionKind, origin: string): InterventionAnswer {
    const said = readInterventionMessage(raw, kind, origin, uuid4());
    if (typeof said === 'string') {
      const by = { who: 'unknown', from: origin };
      return this.#record({ id: uuid4(), kind, by }, false, said);
    }
    const before = this.#answers.get(said.id);
    if (before !== undefined) return { ...before, disposition: 'repeated' };
    const problem = interventionProblem(this.#standing(), said);
    return problem === undefined
      ? this.#record(said, true, this.#act(said))
      : this.#record(said, false, problem);
  }

  #act(said: Intervention): string {
    switch (said.kind) {
      case 'abort':
        this.#stop(`aborted by ${told(said)}`);
        return 'the release stops; what it changed is put back';
      case 'pause':
        this.#paused = true;
        return `no further step begins until "resume", at most ${formatDuration(PAUSE_MAX_MS)}`;
      case 'resume':
        this.#paused = false;
        return 'the release goes on';
      case 'approve':
        this.#approvedBy.push(said.by.who);
        return `approved by ${this.#approvedBy.length} of ${this.#request.approval?.required ?? 0}`;
      case 'reject':
        this.#rejection = said;
        return 'the release ends, and nothing is changed';
      case 'retry':
        this.#decided = 'retry';
        return 'the step is taken up again';
      case 'skip':
        return this.#skip(said.what);
    }
  }

  #skip(named: string | undefined): string {
    const what = whatIsSkipped(this.#standing(), named) ?? SOAK;
    this.#skipped.add(what);
    if (this.#undecided === what) this.#decided = 'skip';
    this.#skippable.get(what)?.cancel();
    return what === SOAK ? 'the rest of the soak is left out' : `check "${what}" is left out`;
  }

  #record(said: Intervention, taken: boolean, note: string): InterventionAnswer {
    this.#journal.intervention({ ...said, at: now(), taken, note });
    const answer: InterventionAnswer = { id: said.id, disposition: 'taken', note };
    if (taken) this.#answers.set(said.id, answer);
    return answer;
  }

  #refuse(raw: unknown, kind: InterventionKind): void {
    const said = readInterventionMessage(raw, kind, 'update', '');
    const problem =
      typeof said === 'string'
        ? said
        : this.#answers.has(said.id)
          ? undefined
          : interventionProblem(this.#standing(), said);
    if (problem !== undefined) refuse(problem, 'SLIPWAY_WRONG_MOMENT');
  }

  #standing(): Standing {
    const goesForward = this.#phase === 'forward' && !this.#forward.consideredCancelled;
    return {
      phase: this.#phase === 'forward' && !goesForward ? 'restoring' : this.#phase,
      paused: this.#paused,
      awaiting: this.#awaiting,
      undecided: this.#undecided,
      ahead: this.#ahead.filter((what) => !this.#skipped.has(what)),
      requestedBy: this.#request.requestedBy,
      approval: this.#request.approval ?? null,
      approvedBy: this.#approvedBy,
    };
  }
}

function told({ by: { who, reason } }: Intervention): string {
  return reason === undefined ? who : `${who}: ${reason}`;
}

function decisionNote({ message }: StepFailure, skippable: string | null): string {
  const choices = skippable === null ? '"retry" or "abort"' : '"retry", "skip" or "abort"';
  return `could not tell how it went (${message}): say ${choices}`;
}
