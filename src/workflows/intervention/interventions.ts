import { type CancellationScope, CancelledFailure, condition, setHandler, uuid4 } from '@temporalio/workflow';

import { type Actor, whoAndWhy } from '../../domain/actor.ts';
import { formatDuration } from '../../domain/duration.ts';
import { isOutcomeUnknown } from '../../domain/failure.ts';
import {
  FREEZE,
  INTERVENTION_KINDS,
  type Intervention,
  type InterventionAnswer,
  type InterventionKind,
  interventionProblem,
  JUDGE,
  SOAK,
  type Standing,
} from '../../domain/intervention/intervention.ts';
import { type StandingRequest, stepOfSkip } from '../../domain/intervention/standing.ts';
import type { ReleaseRequest, RollbackRequest, Waiting } from '../../domain/release/release.ts';
import {
  readInterventionMessage,
  INTERVENTION_SIGNALS,
  INTERVENTION_UPDATES,
} from '../../messages/release.ts';
import { explain, refuse, type StepFailure } from '../failure.ts';
import { type Asked, InterventionProofs } from '../identity/proveIdentity.ts';
import { type Journal, now } from '../journal.ts';
import { Skips } from './skips.ts';

/** How long a release stays paused before it is aborted, if its request sets no limit. */
const PAUSE_MS = 24 * 3_600_000;
/** How long a release waits for a person's decision. */
const ASK_MAX_MS = 24 * 3_600_000;

/** The part of a request that decides which interventions are possible, and what they do. */
interface IntervenedRequest extends StandingRequest, Pick<ReleaseRequest, 'pauseMs' | 'onError'> {
  /** What proves who asked; absent if no proof is possible. */
  readonly asked?: Asked;
  /** A schedule asked, and no person. */
  readonly scheduled?: boolean;
}

/**
 * The interventions of people in a running release or promotion. Handles their updates and signals, rejects or
 * records those that cannot be used now, runs the forward parts between pauses, and waits for people. Each wait has a
 * deadline.
 */
export class Interventions {
  readonly #journal: Journal;
  readonly #request: IntervenedRequest;
  readonly #forward: CancellationScope;
  readonly #proofs: InterventionProofs;
  readonly #onPersonAwaited: (waiting: Waiting) => void;
  readonly #answers = new Map<string, InterventionAnswer>();
  readonly #skips: Skips;
  /** The longest pause, in milliseconds. */
  readonly #pauseMs: number;
  readonly #approvedBy: Actor[] = [];
  readonly #madeBy: Actor[] = [];
  #phase: Standing['phase'] = 'forward';
  #paused = false;
  #awaiting: Standing['awaiting'] = null;
  #undecided: string | null = null;
  #decided: 'retry' | 'skip' | null = null;
  #rejection: Intervention | null = null;
  #stopReason: string | null = null;
  #requestedBy: Actor;
  #requesterKnown = false;

  /**
   * @param forward - the scope of the forward steps, which an abort cancels.
   * @param onPersonAwaited - called when a person must approve or decide. It must not block.
   */
  constructor(
    journal: Journal,
    request: IntervenedRequest,
    forward: CancellationScope,
    onPersonAwaited: (waiting: Waiting) => void,
  ) {
    this.#journal = journal;
    this.#request = request;
    this.#requestedBy = request.requestedBy;
    this.#proofs = new InterventionProofs(journal.store);
    this.#forward = forward;
    this.#onPersonAwaited = onPersonAwaited;
    this.#skips = new Skips(request, forward);
    this.#pauseMs = request.pauseMs ?? PAUSE_MS;
    for (const kind of INTERVENTION_KINDS) {
      setHandler(INTERVENTION_UPDATES[kind], (message) => this.#take(message, kind, 'update'), {
        validator: (message) => this.#refuse(message, kind),
      });
      setHandler(INTERVENTION_SIGNALS[kind], (message) => {
        const taken = this.#take(message, kind, 'signal');
        return taken instanceof Promise ? taken.then(() => undefined) : undefined;
      });
    }
  }

  goesForward(): boolean {
    return this.#phase === 'forward';
  }

  /** Why the release was asked to stop, or stopped by itself; `null` if it was not. */
  get stopReason(): string | null {
    return this.#stopReason;
  }

  /** Who asked for the release: proved, once an approval that requires identity is awaited. */
  get requestedBy(): Actor {
    return this.#requestedBy;
  }

  get skippedChecks(): readonly string[] {
    return this.#skips.checks;
  }

  wasSkipped(what: string): boolean {
    return this.#skips.has(what);
  }

  /** Notes who made the change to approve: they cannot approve it. */
  noteMaker(maker: Actor): void {
    this.#madeBy.push(maker);
    this.#journal.note({ madeBy: this.#madeBy });
  }

  /** Ends the soak, and any pause, for a person who rolls back to the revision that soaks. */
  endSoak({ requestId: id, requestedBy: by }: RollbackRequest): void {
    this.#paused = false;
    this.#record({ id, kind: 'skip', what: SOAK, by }, true, this.#skip(SOAK, 'release'));
  }

  /** Enters the phase in which messages are refused: an earlier revision is restored, or the release has ended. */
  enter(phase: 'restoring' | 'ended'): void {
    this.#phase = phase;
  }

  /** Ends the forward steps. If called again, the first reason stays. */
  stop(reason: string): CancelledFailure {
    this.#stopReason ??= reason;
    this.#forward.cancel();
    return new CancelledFailure(reason);
  }

  /** Waits while the release is paused. Called between two parts, and after the last. */
  async whilePaused(): Promise<void> {
    while (this.#paused) {
      const note = 'paused: no further step begins';
      if (await this.#waitFor('resume', this.#pauseMs, note, () => !this.#paused)) continue;
      throw this.stop(`paused for longer than ${formatDuration(this.#pauseMs)}`);
    }
  }

  /**
   * Runs one part of the release, after any pause. If the part's outcome is unknown, follows the request's `onError`
   * policy.
   */
  async go<T>(part: () => Promise<T>): Promise<T> {
    for (;;) {
      await this.whilePaused();
      try {
        return await part();
      } catch (error) {
        if ((await this.#decide(error, null)) !== 'retry') throw error;
      }
    }
  }

  /** Runs one part that a person may skip, such as a check. */
  async goOrSkip(what: string, part: () => Promise<void>): Promise<void> {
    while (!this.wasSkipped(what)) {
      await this.whilePaused();
      try {
        if (!this.wasSkipped(what)) await this.#skips.run(what, part);
        break;
      } catch (error) {
        if ((await this.#decide(error, what)) === null) throw error;
      }
    }
    this.#skips.pass(what);
    if (this.wasSkipped(what)) this.#journal.skipped(stepOfSkip(what), what);
  }

  /** Waits until a freeze ends, in milliseconds since 1970. */
  async whileFrozen(until: number, note: string): Promise<void> {
    await this.#waitFor('freeze', Math.max(until - Date.now(), 1), note, () => false);
  }

  /** Proves once who asked, if approvals require it. Ends without a proof; a schedule needs none. */
  async proveRequester(): Promise<void> {
    const { approval, asked, scheduled = false } = this.#request;
    if (approval?.identity === undefined || this.#requesterKnown) return;
    if (!(asked === undefined && scheduled)) {
      const requester = await this.#proofs.requester(this.#requestedBy, asked);
      if (typeof requester === 'string') throw this.stop(requester);
      this.#requestedBy = requester;
      this.#journal.note({ requestedBy: requester });
    }
    this.#requesterKnown = true;
  }

  async approval(): Promise<void> {
    const policy = this.#request.approval;
    if (policy === undefined || policy.required <= 0) return;
    const { required, withinMs, approvers } = policy;
    await this.proveRequester();
    const answered = (): boolean => this.#approvedBy.length >= required || this.#rejection !== null;
    const note = `${required === 1 ? 'one approval is' : `${required} approvals are`} needed before anything is changed`;
    const inTime = await this.#proofs.while(policy, () =>
      this.#waitFor('approval', withinMs, note, answered, approvers),
    );
    if (this.#rejection !== null) {
      await this.#proofs.awaitRejection(this.#rejection);
      throw this.stop(`rejected by ${whoAndWhy(this.#rejection.by)}`);
    }
    if (!inTime && policy.otherwise !== 'approve') {
      throw this.stop(
        `approved by ${this.#approvedBy.length} of ${required} within ${formatDuration(withinMs)}`,
      );
    }
  }

  /**
   * Asks a person whether to continue. Ends the release unless a person answers `retry` in time.
   * @param skippable - the part that a `skip` may skip.
   */
  async ask(note: string, skippable: string | null = null): Promise<void> {
    if (await this.decision(note, ASK_MAX_MS, skippable)) return;
    throw this.stop(`no one decided within ${formatDuration(ASK_MAX_MS)} whether to continue`);
  }

  /** Waits up to `forMs` for a person's `retry` or `skip`. @returns whether it came. */
  async decision(note: string, forMs: number, skippable: string | null): Promise<boolean> {
    this.#decided = null;
    this.#undecided = skippable;
    try {
      return await this.#waitFor('decision', forMs, note, () => this.#decided !== null);
    } finally {
      this.#undecided = null;
    }
  }

  /** Asks for a decision if a part's outcome is unknown; `null` if the policy asks for none, or if none came. */
  async #decide(error: unknown, skippable: string | null): Promise<'retry' | 'skip' | null> {
    const failure = explain(error);
    const { onError } = this.#request;
    if (failure.canceled || !isOutcomeUnknown(failure.code) || onError?.then !== 'wait') return null;
    await this.decision(decisionNote(failure, skippable), onError.waitMs, skippable);
    return this.#decided;
  }

  /** Waits up to `forMs` for a person or a condition. @returns whether it came in time. */
  async #waitFor(
    what: Waiting['for'],
    forMs: number,
    note: string,
    arrived: () => boolean,
    approvers?: readonly string[],
  ): Promise<boolean> {
    const person = what === 'approval' || what === 'decision' ? what : null;
    this.#awaiting = person;
    const since = Date.now();
    const waiting: Waiting = {
      for: what,
      since: new Date(since).toISOString(),
      until: new Date(since + forMs).toISOString(),
      note,
      approvers,
    };
    this.#journal.waiting(waiting);
    if (person !== null) this.#onPersonAwaited(waiting);
    try {
      return await condition(() => {
        this.#journal.recordUnknownSignals();
        return arrived();
      }, forMs);
    } finally {
      this.#awaiting = null;
      this.#journal.waiting(null);
    }
  }

  #refuse(raw: unknown, kind: InterventionKind): void {
    const said = readInterventionMessage(raw, kind, 'update', '');
    if (typeof said === 'string') refuse(said, 'SLIPWAY_WRONG_MOMENT');
    const problem = this.#answers.has(said.id) ? undefined : interventionProblem(this.#standing, said);
    if (problem !== undefined) refuse(problem, 'SLIPWAY_WRONG_MOMENT');
  }

  #take(
    raw: unknown,
    kind: InterventionKind,
    origin: 'update' | 'signal',
  ): InterventionAnswer | Promise<InterventionAnswer> {
    const said = readInterventionMessage(raw, kind, origin, uuid4());
    if (typeof said === 'string') {
      const by = { who: 'unknown', from: origin };
      return this.#record({ id: uuid4(), kind, by }, false, said);
    }
    const { id } = said;
    const before = this.#answers.get(id);
    if (before !== undefined) return { ...before, disposition: 'repeated' };
    if (this.#proofs.isUnderWay(id)) return { id, disposition: 'repeated', note: 'it is being verified' };
    const problem = interventionProblem(this.#standing, said);
    const mustProve = kind === 'approve' && this.#request.approval?.identity !== undefined;
    if (problem === undefined && mustProve) return this.#takeProved(said, origin);
    if (problem !== undefined) {
      const answer = this.#record(said, false, problem);
      return origin === 'update' ? refuse(problem, 'SLIPWAY_WRONG_MOMENT') : answer;
    }
    const answer = this.#record(said, true, this.#act(said));
    if (said.identity !== undefined) this.#proofs.meanwhile(said, (by) => this.#noteProof(said, by));
    return answer;
  }

  /** Records the proved sender of an intervention that was accepted under a claimed name. */
  #noteProof({ id }: Intervention, by: Actor): void {
    this.#journal.provedIntervention(id, by);
    if (this.#rejection?.id === id) this.#rejection = { ...this.#rejection, by };
  }

  /** Accepts an approval once its identity is proved. Otherwise an update fails, and a signal is only recorded. */
  async #takeProved(said: Intervention, origin: 'update' | 'signal'): Promise<InterventionAnswer> {
    const proved = await this.#proofs.approver(said);
    const isProved = typeof proved !== 'string';
    const approval = isProved ? { ...said, by: proved, identity: undefined } : said;
    const problem = isProved ? interventionProblem(this.#standing, approval) : proved;
    if (problem === undefined) return this.#record(approval, true, this.#act(approval));
    const answer = this.#record(approval, false, problem);
    if (origin === 'update') refuse(problem, isProved ? 'SLIPWAY_WRONG_MOMENT' : 'SLIPWAY_IDENTITY_UNPROVED');
    return answer;
  }

  #record(said: Intervention, taken: boolean, note: string): InterventionAnswer {
    const { identity: _, ...record } = said;
    this.#journal.intervention({ ...record, at: now(), taken, note });
    const answer: InterventionAnswer = { id: said.id, disposition: 'taken', note };
    if (taken) this.#answers.set(said.id, answer);
    return answer;
  }

  #act(said: Intervention): string {
    const { called = 'release', approval } = this.#request;
    switch (said.kind) {
      case 'abort':
        this.stop(`aborted by ${whoAndWhy(said.by)}`);
        return `the ${called} stops; any change it made is undone`;
      case 'pause':
        this.#paused = true;
        return `no further step begins until "resume", at most ${formatDuration(this.#pauseMs)}`;
      case 'resume':
        this.#paused = false;
        return `the ${called} continues`;
      case 'approve':
        this.#approvedBy.push(said.by);
        return `approved by ${this.#approvedBy.length} of ${approval?.required ?? 0}`;
      case 'reject':
        this.#rejection = said;
        return `the ${called} ends, and nothing is changed`;
      case 'retry':
        this.#decided = 'retry';
        return 'the step is retried';
      case 'skip':
        return this.#skip(said.what ?? '', called);
    }
  }

  #skip(what: string, called: string): string {
    if (this.#undecided === what) this.#decided = 'skip';
    this.#skips.add(what);
    if (what === FREEZE) return `the ${called} continues in spite of a freeze`;
    if (what === JUDGE) return `the ${called} continues without the judge`;
    return what === SOAK ? 'the rest of the soak is left out' : `check "${what}" is left out`;
  }

  get #standing(): Standing {
    const { called, approval = null } = this.#request;
    const isStopped = this.#forward.consideredCancelled || this.#rejection !== null;
    return {
      called,
      phase: isStopped && this.#phase === 'forward' ? 'restoring' : this.#phase,
      paused: this.#paused,
      awaiting: this.#awaiting,
      ahead: this.#skips.ahead,
      requestedBy: this.#requestedBy,
      approval,
      madeBy: this.#madeBy,
      approvedBy: this.#approvedBy,
    };
  }
}

/** What a person is asked if the outcome of a step is unknown. */
function decisionNote({ message }: StepFailure, skippable: string | null): string {
  const choices = skippable === null ? '"retry" or "abort"' : `"retry", "abort", or "skip" of "${skippable}"`;
  return `its outcome is unknown (${message}): say ${choices}`;
}
