import type { SignalDefinition } from '@temporalio/common';
import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  upsertMemo,
} from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import { artifactIdentity } from '../../domain/artifact/artifact.ts';
import { quarantinedIds } from '../../domain/deployment/revision.ts';
import type { GuardMessage } from '../../domain/guard/guarding.ts';
import { noticesBetween, rowsSince, startNotice } from '../../domain/notify/noticeContent.ts';
import type { Preemption, ReleaseRequest } from '../../domain/release/release.ts';
import { stepPolicy } from '../../domain/stepTable.ts';
import { describeTarget } from '../../domain/story.ts';
import { countFailedChecks } from '../../domain/target/quarantine.ts';
import { takeSubmission } from '../../domain/target/submissions.ts';
import {
  rejectQuarantined,
  supersedeReplaced,
  takeNext,
  withdrawnBy,
} from '../../domain/target/targetQueue.ts';
import { keepSettings, recordResult } from '../../domain/target/targetResult.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  type NextWork,
  type ReleaseAnswer,
  type Running,
  type TargetState,
} from '../../domain/target/targetState.ts';
import { INTERVENTION_SIGNALS, preemptSignal, quarantinedSignal } from '../../messages/release.ts';
import type { TargetInput, TargetWorkflow } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { TargetGuard } from '../guard/guard.ts';
import { measure } from '../measure.ts';
import { Notices } from '../notify/notices.ts';
import { RollbackRequests } from '../rollback/rollbackRequests.ts';
import { takeUnknownSignals } from '../unknownSignals.ts';
import { messageGate } from './messageGate.ts';
import { readWhatServes } from './looks.ts';
import { recoverTarget, whenCanceled } from './recoverTarget.ts';
import { RunLength } from './runLength.ts';
import { StateKeeper } from './stateKeeper.ts';
import type { TargetCore } from './targetCore.ts';
import { LateWatch } from './watchLate.ts';
import { adoptWork, resultOf, runningOf, startWork, type WorkHandle } from './work.ts';

/**
 * A target: its queue, lock, hold and history. It decides what runs on the target and when: one release or rollback
 * at a time. It never changes the deployment itself.
 */
export class Target implements TargetCore {
  readonly #input: TargetInput;
  readonly #startsAs: TargetState;
  readonly #runLength: RunLength;
  /** A reset ends this life of the target, and cancels it. */
  readonly #life = CancellationScope.current();
  readonly #resetsBefore = messageGate().resets;
  readonly rollbacks = new RollbackRequests(this);
  readonly #notices = new Notices();
  readonly #guard = new TargetGuard(this);
  readonly #lateWatch = new LateWatch(this, async (counter) => {
    await this.started();
    await this.preempt(counter);
  });
  #state: TargetState;
  #running: Running | null = null;
  #child: WorkHandle | null = null;
  #reported = Promise.resolve();

  constructor(input: TargetInput) {
    this.#input = input;
    // State from an earlier version lacks newer fields.
    this.#state = this.#startsAs = { ...EMPTY_TARGET, ...input.state };
    this.#runLength = new RunLength(input.continueAsNewAfterEvents);
  }

  get state(): TargetState {
    return this.#state;
  }

  get running(): Running | null {
    return this.#running;
  }

  get runningRelease(): WorkHandle | undefined {
    return this.#running?.kind === 'release' && this.#child !== null ? this.#child : undefined;
  }

  /** Replaces the state, sends the notices for the changes, and counts the releases that ended. */
  change(next: TargetState): void {
    // A reset has ended this life, whose work seems to have ended without a result. The next life knows better.
    if (this.#isOver) return;
    const news = noticesBetween(this.#state, next);
    for (const { kind, outcome } of rowsSince(this.#state, next))
      measure('slipway_releases', 1, { kind, outcome, target: next.spec?.name ?? '' });
    this.replace(next);
    for (const notice of news) this.#notices.send(notice, this.#state.lastRequest);
  }

  replace(next: TargetState): void {
    this.#state = next;
    this.#runLength.note();
    setCurrentDetails(describeTarget(this.#state, this.#running));
  }

  ignore(message: string, reason: string): void {
    this.change(ignoreMessage(this.#state, message, reason, now()));
  }

  updateTaken(): void {
    this.#runLength.updateTaken();
  }

  submit(id: string, request: ReleaseRequest): ReleaseAnswer | Promise<ReleaseAnswer> {
    const { state, answer } = takeSubmission(this.#state, this.#running, id, request, now());
    if (answer.disposition === 'already_released') return this.#submitAfterLook(id, request);
    this.change(state);
    return answer;
  }

  /** A person may have changed the deployment by hand: joins a finished release only if its revision still serves. */
  async #submitAfterLook(id: string, request: ReleaseRequest): Promise<ReleaseAnswer> {
    const activeRevisionId = (await readWhatServes(request)) ?? null;
    this.updateTaken();
    const seen = { ...this.#state, activeRevisionId };
    const { state, answer } = takeSubmission(seen, this.#running, id, request, now());
    // The state keeps the revision that served before. By it the next release detects the change made by hand.
    this.change({ ...state, activeRevisionId: this.#state.activeRevisionId });
    return answer;
  }

  /** Whether Temporal has not started yet what runs, so that no message can reach it. */
  get isStarting(): boolean {
    return this.#running !== null && this.#child === null;
  }

  /** Waits until it can. */
  started(): Promise<void> {
    return condition(() => !this.isStarting || this.#isOver);
  }

  /** Asks the running release to make way, or never to restore a revision. */
  async preempt(preemption: Preemption): Promise<void> {
    // `#follow` asks one that is starting to make way.
    if (preemption.goesOn === true && this.isStarting) await this.started();
    await this.#signal('preempt', preemptSignal, preemption);
  }

  /**
   * Sends what runs the revisions that are in quarantine now, which it does not restore. One report after the other, because
   * the server may deliver two signals of one workflow task in either order.
   */
  reportQuarantined(): Promise<void> {
    this.#reported = this.#reported.then(async () => {
      if (this.isStarting) await this.started();
      await this.#signal('quarantine', quarantinedSignal, quarantinedIds(this.#state.known));
    });
    return this.#reported;
  }

  /** Asks the running release to abort, because all of its submissions were withdrawn. */
  abortWithdrawn(by: Actor): Promise<void> {
    return this.#signal('withdraw', INTERVENTION_SIGNALS.abort, { requestId: 'withdrawn', ...by });
  }

  /** Signals the running release. One that has just ended cannot receive it: its result says what it did. */
  async #signal<Args extends [unknown?]>(
    message: string,
    signal: SignalDefinition<Args>,
    ...args: Args
  ): Promise<void> {
    try {
      await this.#child?.signal(signal, ...args);
    } catch (error) {
      this.ignore(message, explain(error).message);
    }
  }

  noteChanging(releaseId: unknown): void {
    const running = this.#running?.releaseId;
    if (running !== undefined && running === releaseId) this.#guard.preempt(running);
    else this.ignore('changing', 'it names no release that runs');
  }

  async noteWaitingAgain(releaseId: unknown): Promise<void> {
    const running = this.#running?.releaseId;
    if (running !== undefined && running === releaseId) await this.#guard.resume(running);
    else this.ignore('waitsAgain', 'it names no release that runs');
  }

  takeGuardReport(report: GuardMessage): boolean {
    return this.#guard.take(report);
  }

  noteRestoring(releaseId: string, revisionId: string): void {
    if (this.#running?.releaseId === releaseId) this.#running = { ...this.#running, restores: revisionId };
  }

  /** Runs one release or rollback at a time, until this run continues as new. */
  async run(): Promise<never> {
    this.change(this.#state);
    if (this.#state.activeRevisionId !== null) this.#writeMemo();
    const { work, signaled = [] } = await recoverTarget(this, this.#input.recordStore);
    const isKept = this.#state === this.#startsAs;
    const keeper = new StateKeeper(this, this.#input.recordStore, isKept ? this.#state : null);
    void keeper.keep();
    void this.#lateWatch.keep();
    void whenCanceled(() => this.ignore('cancel', 'a target does not end: "slipway hold" stops releases'));
    const adopted = work === null ? undefined : this.#adopt(work);
    void this.rollbacks.takeOver(signaled);
    if (adopted !== undefined) await adopted;
    for (;;) {
      this.#runLength.note();
      this.#ignoreUnknownSignals();
      // The next run takes the queue over, so that a queue that never empties cannot keep this run going. Only
      // rollbacks run first, until this run is exhausted.
      if (this.#runLength.isReached && !this.#rollbackGoesFirst) {
        await this.#continueAsNew(keeper);
        continue;
      }
      const next = takeNext(this.#state);
      if (next !== undefined) await this.#start(next.work, next.state);
      else await this.#awaitWork();
    }
  }

  async #start(work: NextWork, state: TargetState): Promise<void> {
    const waited = this.#state.queue.find(({ releaseId }) => releaseId === work.releaseId);
    if (waited !== undefined)
      measure('slipway_queue_wait_seconds', (Date.now() - Date.parse(waited.queuedAt)) / 1_000, {});
    const running = this.#begin(work, state);
    const settings = this.#settingsOf(work);
    this.#child = await startWork(work, this.#state, running.workflowId);
    await this.#goesOn();
    this.#writeMemo();
    const { spec, lastRequest } = this.#state;
    if (spec !== null) this.#notices.send(startNotice(spec, work), lastRequest);
    await this.#follow(work, this.#child, settings);
  }

  /** Follows a release or a rollback that an earlier run of the target started. */
  async #adopt(work: NextWork): Promise<void> {
    const running = this.#begin(work, this.#state);
    this.#child = adoptWork(running.workflowId);
    await this.#reportSince(work, this.#child);
    await this.#follow(work, this.#child, this.#settingsOf(work));
  }

  /** Reports the quarantine if it has changed since the work began: an earlier run may have ended before it did so. */
  async #reportSince({ quarantined }: NextWork, child: WorkHandle): Promise<void> {
    const current = quarantinedIds(this.#state.known);
    if (quarantined === undefined || current.join() === quarantined.join()) return;
    // It may have ended, and needs no report then.
    await child.signal(quarantinedSignal, current).catch(() => undefined);
  }

  #begin(work: NextWork, state: TargetState): Running {
    const running = runningOf(work);
    this.#running = running;
    this.change(state);
    // A release says when it is about to change what serves, which is guarded until then.
    if (work.kind === 'rollback') this.#guard.preempt(work.releaseId);
    return running;
  }

  async #follow(work: NextWork, child: WorkHandle, settings: TargetSpec | null): Promise<void> {
    // A signal that arrived between queueing and starting has not reached the child yet.
    const [waiting] = this.#state.rollbacks;
    if (work.kind === 'release' && waiting !== undefined) await this.preempt(waiting);
    const withdrawn = withdrawnBy(this.#state, work.releaseId);
    if (withdrawn !== undefined) await this.abortWithdrawn(withdrawn);
    const result = await resultOf(child, work, this.#state);
    await this.#goesOn();
    this.#running = null;
    this.#child = null;
    const { scheduleToCloseMs: watchMs } = stepPolicy('watch', this.#state.lastRequest?.steps ?? {});
    this.change(keepSettings(recordResult(this.#state, result, watchMs), result, settings));
    if (work.kind === 'release') {
      const artifact = artifactIdentity(work.request.artifact);
      const counted = countFailedChecks(this.#state, result, artifact, now());
      this.change(rejectQuarantined(counted, now()));
    }
    this.change(supersedeReplaced(this.#state, now()));
    await this.#guard.begin(work, result);
    this.#writeMemo();
    await this.#lateWatch.counterOvertakers();
  }

  get #isOver(): boolean {
    return messageGate().resets > this.#resetsBefore;
  }

  /** Ends here if a reset has ended this life: what it waited for may arrive together with the reset. */
  async #goesOn(): Promise<void> {
    if (this.#isOver) await this.#life.cancelRequested;
  }

  #settingsOf(work: NextWork): TargetSpec | null {
    return work.kind === 'release' ? work.request.target : this.#state.spec;
  }

  #awaitWork(): Promise<void> {
    return condition(() => {
      this.#ignoreUnknownSignals();
      const { rollbacks, queue } = this.#state;
      return rollbacks.length + queue.length > 0 || (this.#runLength.isReached && allHandlersFinished());
    });
  }

  /** Continues as new if nothing would be lost; else returns. */
  async #continueAsNew(keeper: StateKeeper): Promise<void> {
    await this.#notices.begun();
    await this.#guard.sent();
    const goesFirst = (): boolean => this.#rollbackGoesFirst;
    await keeper.written(goesFirst);
    const canEnd = await this.#runLength.canEnd(goesFirst);
    if (!canEnd || !this.#notices.allBegun || !this.#guard.allSent || !keeper.isWritten) return;
    await continueAsNew<TargetWorkflow>({ ...this.#input, state: this.#state });
  }

  get #rollbackGoesFirst(): boolean {
    return this.#state.rollbacks.length > 0 && !this.#runLength.isExhausted;
  }

  /** Sets the memo to what runs and what serves. Temporal's lists show it. */
  #writeMemo(): void {
    upsertMemo({ running: this.#running?.releaseId ?? null, serves: this.#state.activeRevisionId });
  }

  #ignoreUnknownSignals(): void {
    takeUnknownSignals((name, reason) => this.ignore(name, reason));
  }
}
