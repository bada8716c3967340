import { type CancellationScope, CancelledFailure, setHandler, uuid4 } from '@temporalio/workflow';

import { formatDuration } from '../domain/duration.ts';
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
} from '../domain/intervention.ts';
import type { ReleaseRequest } from '../domain/release.ts';
import { INTERVENTION_SIGNALS, INTERVENTION_UPDATES, readInterventionMessage } from '../messages/release.ts';
import { refuse } from './failure.ts';
import { type Journal, now } from './journal.ts';

/** How long a release stays paused before it is aborted, where its request does not say. */
const PAUSE_MS = 24 * 3_600_000;

/** What of a request decides what may be said. */
export type IntervenedRequest = Pick<
  ReleaseRequest,
  'checks' | 'soakMs' | 'pauseMs' | 'freezes' | 'approval' | 'onError' | 'requestedBy'
> &
  Pick<Standing, 'called'> & {
    /** Whether a candidate is to be judged. */
    readonly judged?: boolean;
  };

/**
 * What people have said to a release under way: takes the updates and signals, refuses or records what has no use at the
 * moment, and tells the way forward what was said ({@link file://./interventions.ts}).
 */
export class WhatWasSaid {
  readonly #journal: Journal;
  readonly #request: IntervenedRequest;
  readonly #forward: CancellationScope;
  readonly #answers = new Map<string, InterventionAnswer>();
  readonly #skippable = new Map<string, CancellationScope>();
  readonly #skipped = new Set<string>();
  readonly #approvedBy: string[] = [];
  readonly #madeBy: string[] = [];
  #phase: Standing['phase'] = 'forward';
  #paused = false;
  #awaiting: Standing['awaiting'] = null;
  #undecided: string | null = null;
  #decided: 'retry' | 'skip' | null = null;
  #rejection: Intervention | null = null;
  #ahead: readonly string[];
  #stopReason: string | null = null;

  /** @param forward - the scope of the way forward, which an abort cancels. */
  constructor(journal: Journal, request: IntervenedRequest, forward: CancellationScope) {
    this.#journal = journal;
    this.#request = request;
    this.#forward = forward;
    this.#ahead = [
      ...((request.freezes ?? []).length > 0 ? [FREEZE] : []),
      ...request.checks.map((check) => check.name),
      ...(request.soakMs > 0 ? [SOAK] : []),
      ...(request.judged === true ? [JUDGE] : []),
    ];
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

  get paused(): boolean {
    return this.#paused;
  }

  /** How long a pause may last, in milliseconds. */
  get pauseMs(): number {
    return this.#request.pauseMs ?? PAUSE_MS;
  }

  /** How many have approved. */
  get approvals(): number {
    return this.#approvedBy.length;
  }

  /** Who rejected and why, in words; `null` where nobody did. */
  get rejectedBy(): string | null {
    return this.#rejection === null ? null : told(this.#rejection);
  }

  /** What was said where the release waits for a decision; `null`: nothing yet. */
  get decided(): 'retry' | 'skip' | null {
    return this.#decided;
  }

  /** What people left out. */
  get skipped(): ReadonlySet<string> {
    return this.#skipped;
  }

  /** From now on an earlier revision is put back, or the release has ended: there is nothing more to say to it. */
  enter(phase: 'restoring' | 'ended'): void {
    this.#phase = phase;
  }

  /** Notes who made what is to be approved: they do not approve it. */
  isMadeBy(who: string): void {
    this.#madeBy.push(who);
  }

  /** Notes what only a person can say, and is waited for; `null`: nothing, or no longer. */
  awaits(what: Standing['awaiting']): void {
    this.#awaiting = what;
  }

  /**
   * Forgets what was decided before: a new decision is needed.
   *
   * @param skippable - the part that it is about, where a person may leave it out.
   */
  needsDecision(skippable: string | null): void {
    this.#decided = null;
    this.#undecided = skippable;
  }

  /** Notes that no decision is needed any longer. */
  needsNoDecision(): void {
    this.#undecided = null;
  }

  /** Notes a part that is under way: leaving it out cancels its scope. */
  begins(part: string, scope: CancellationScope): void {
    this.#skippable.set(part, scope);
  }

  /** Notes that a part is not under way any longer. */
  ends(part: string): void {
    this.#skippable.delete(part);
  }

  /** Notes a part that does not lie ahead any longer. */
  passed(part: string): void {
    this.#ahead = this.#ahead.filter((other) => other !== part);
  }

  /** Ends the way forward. The first reason counts. */
  stop(reason: string): CancelledFailure {
    this.#stopReason ??= reason;
    this.#forward.cancel();
    return new CancelledFailure(reason);
  }

  get #called(): string {
    return this.#request.called ?? 'release';
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
        this.stop(`aborted by ${told(said)}`);
        return `the ${this.#called} stops; what it changed is put back`;
      case 'pause':
        this.#paused = true;
        return `no further step begins until "resume", at most ${formatDuration(this.pauseMs)}`;
      case 'resume':
        this.#paused = false;
        return `the ${this.#called} goes on`;
      case 'approve':
        this.#approvedBy.push(said.by.who);
        return `approved by ${this.approvals} of ${this.#request.approval?.required ?? 0}`;
      case 'reject':
        this.#rejection = said;
        return `the ${this.#called} ends, and nothing is changed`;
      case 'retry':
        this.#decided = 'retry';
        return 'the step is taken up again';
      case 'skip':
        return this.#skip(said.what ?? '');
    }
  }

  #skip(what: string): string {
    this.#skipped.add(what);
    if (this.#undecided === what) this.#decided = 'skip';
    this.#skippable.get(what)?.cancel();
    if (what === FREEZE) return `the ${this.#called} goes on in spite of a freeze`;
    if (what === JUDGE) return `the ${this.#called} goes on without the judge`;
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
    const { called } = this.#request;
    return {
      ...(called === undefined ? {} : { called }),
      phase: this.#phase === 'forward' && !goesForward ? 'restoring' : this.#phase,
      paused: this.#paused,
      awaiting: this.#awaiting,
      ahead: this.#ahead.filter((what) => !this.#skipped.has(what)),
      requestedBy: this.#request.requestedBy,
      approval: this.#request.approval ?? null,
      madeBy: this.#madeBy,
      approvedBy: this.#approvedBy,
    };
  }
}

function told({ by: { who, reason } }: Intervention): string {
  return reason === undefined ? who : `${who}: ${reason}`;
}
