import {
  allHandlersFinished,
  condition,
  continueAsNew,
  currentUpdateInfo,
  setCurrentDetails,
  setHandler,
  upsertMemo,
  uuid4,
} from '@temporalio/workflow';

import { artifactIdentity } from '../domain/artifact.ts';
import { noticesBetween, startNotice } from '../domain/notify/targetNotices.ts';
import type { Actor, Preemption, ReleaseRequest, RollbackRequest } from '../domain/release.ts';
import { countFailedChecks } from '../domain/quarantine.ts';
import { releaseRequestProblem } from '../domain/requestProblem.ts';
import { findRevision, noRevision } from '../domain/revisionName.ts';
import type { StepOverrides } from '../domain/step.ts';
import { tellTarget } from '../domain/story.ts';
import { takeSubmission, withdrawnBy } from '../domain/submissions.ts';
import { rejectQuarantined, takeNext } from '../domain/targetQueue.ts';
import { keepSettings, recordResult } from '../domain/targetResult.ts';
import { dependsOnWhatServes, requestRollback } from '../domain/targetRollback.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  type Lookup,
  lookUp,
  noteSaid,
  type ReleaseAnswer,
  type RollbackAnswer,
  type Running,
  type TargetState,
} from '../domain/targetState.ts';
import { INTERVENTION_SIGNALS, preemptSignal } from '../messages/release.ts';
import {
  lookupQuery,
  readRestoring,
  readRollbackMessage,
  restoringSignal,
  rollbackSignal,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetView,
  viewQuery,
} from '../messages/target.ts';
import type { TargetInput } from '../messages/workflowTypes.ts';
import { atTheDoor, doorway } from './doorway.ts';
import { explain, refuse } from './failure.ts';
import { now } from './journal.ts';
import { StateKeeper } from './keepState.ts';
import { readWhatServes, ROLLBACK_LOOK_MS, whyNoRevision } from './looks.ts';
import { Notices } from './notices.ts';
import { outlive, recoverTarget, whenCanceled } from './recoverTarget.ts';
import { RunLength } from './runLength.ts';
import { stepPolicy } from './steps.ts';
import {
  handleHolds,
  handleQuarantine,
  handleUndelivered,
  handleWithdrawals,
  passInterventionsOn,
  type TargetDesk,
} from './targetMessages.ts';
import { takeUnknownSignals } from './unknownSignals.ts';
import { LateWatch } from './watchLate.ts';
import { adoptWork, describeWork, resultOf, startWork, type WorkHandle } from './work.ts';

/**
 * One target's life: queue, lock, hold, history. It decides what runs on the target and when, one thing at a time;
 * it never touches the deployment itself. It lives on until it is terminated, continuing as new between two pieces of
 * work.
 */
export function target(input: TargetInput = {}): Promise<void> {
  return outlive(input, live);
}

async function live(input: TargetInput): Promise<void> {
  // What an earlier version carried over has not every field.
  const startsAs: TargetState = { ...EMPTY_TARGET, ...input.state };
  let state = startsAs;
  let running: Running | null = null;
  let child: WorkHandle | null = null;
  const runLength = new RunLength(input.continueAsNewAfterEvents);

  const notices = new Notices();

  const put = (next: TargetState): void => {
    state = next;
    runLength.note();
    setCurrentDetails(tellTarget(state, running));
  };
  const change = (next: TargetState): void => {
    const news = noticesBetween(state, next);
    put(next);
    for (const notice of news) notices.tell(notice, state.lastRequest);
  };

  const desk: TargetDesk = {
    get state() {
      return state;
    },
    get running() {
      return running;
    },
    change,
    ignore: (message, reason) => change(ignoreMessage(state, message, reason, now())),
    updateTaken: () => runLength.updateTaken(),
  };

  /** Notes what runs and what serves in the memo, which Temporal's lists show. */
  const mark = (): void =>
    upsertMemo({ running: running?.releaseId ?? null, serves: state.activeRevisionId });

  /** Tells the running release to stop. One that has just ended needs no telling: its result says what it did. */
  const preempt = async (preemption: Preemption): Promise<void> => {
    try {
      await child?.signal(preemptSignal, preemption);
    } catch (error) {
      desk.ignore('preempt', explain(error).message);
    }
  };

  /** Tells the running release to abort: every submission of it was withdrawn. */
  const abortWithdrawn = async (by: Actor): Promise<void> => {
    try {
      await child?.signal(INTERVENTION_SIGNALS.abort, { requestId: 'withdrawn', ...by });
    } catch (error) {
      desk.ignore('withdraw', explain(error).message);
    }
  };

  /** By request id: a client that does not wait for the answer says the same by signal. */
  const answering = new Map<string, Promise<RollbackAnswer | Refused>>();
  let looking: ReturnType<typeof readWhatServes> | undefined;

  /** What serves, as the control plane says. Rollbacks that arrive together share one look. */
  const lookAtWhatServes = (lastRequest: ReleaseRequest): ReturnType<typeof readWhatServes> => {
    looking ??= readWhatServes(lastRequest, ROLLBACK_LOOK_MS).finally(() => {
      looking = undefined;
    });
    return looking;
  };

  /** Looks before anything is held or stopped: at the revision that is named, or at what serves. */
  const answerRollback = async (asked: RollbackRequest): Promise<RollbackAnswer | Refused> => {
    const { lastRequest } = state;
    const meant = asked.to === undefined ? undefined : findRevision(state, asked.to);
    if (meant !== undefined && 'problem' in meant) return { refused: meant.problem };
    if (meant !== undefined && 'askFor' in meant && lastRequest !== null) {
      const problem = await whyNoRevision(lastRequest, meant.askFor);
      if (problem !== undefined) return { refused: noRevision(state, meant.askFor, problem) };
    }
    const to = meant === undefined ? {} : { to: 'askFor' in meant ? meant.askFor : meant.revisionId };
    const request = { ...asked, ...to };
    const looks = lastRequest !== null && dependsOnWhatServes({ state, running }, request);
    const active = looks ? await lookAtWhatServes(lastRequest) : undefined;
    const taken = requestRollback({ state, running, now: now(), active }, request);
    change(tellRollback(taken, request));
    if (taken.preempt !== undefined) await preempt(taken.preempt);
    return taken.answer;
  };

  const takeRollback = (request: RollbackRequest): Promise<RollbackAnswer | Refused> => {
    const same = answering.get(request.requestId);
    if (same !== undefined) return same;
    const answer = answerRollback(request).finally(() => answering.delete(request.requestId));
    answering.set(request.requestId, answer);
    return answer;
  };

  /** Somebody may have changed the deployment by hand: what is said to serve must be what serves. */
  const lookAgain = async (id: string, request: ReleaseRequest): Promise<ReleaseAnswer> => {
    const activeRevisionId = (await readWhatServes(request)) ?? null;
    desk.updateTaken();
    const { state: next, answer } = takeSubmission(
      { ...state, activeRevisionId },
      running,
      id,
      request,
      now(),
    );
    // What was known to serve stays: against it the release that begins now notices the change by hand.
    change({ ...next, activeRevisionId: state.activeRevisionId });
    return answer;
  };

  setHandler(
    submitReleaseUpdate,
    (request) => {
      desk.updateTaken();
      const id = currentUpdateInfo()?.id ?? '';
      const { state: next, answer } = takeSubmission(state, running, id, request, now());
      if (answer.disposition === 'already_released') return lookAgain(id, request);
      change(next);
      return answer;
    },
    {
      description: 'Queue a release; joins one with the same request key',
      validator: atTheDoor(submitReleaseUpdate, (request) => refuseWhere(releaseRequestProblem(request))),
    },
  );
  const onRollbackUpdate = async (message: unknown): Promise<RollbackAnswer> => {
    desk.updateTaken();
    const request = readRollbackMessage(message, 'update', uuid4());
    if (typeof request === 'string') refuse(request);
    const answer = await takeRollback(request);
    desk.updateTaken();
    if ('refused' in answer) refuse(answer.refused);
    return answer;
  };
  setHandler(rollbackUpdate, onRollbackUpdate, {
    description: 'Restore an earlier verified revision, before everything that waits',
    validator: atTheDoor(rollbackUpdate, (message) => {
      const request = readRollbackMessage(message, 'update', 'none');
      if (typeof request === 'string') refuse(request);
      if (state.spec === null) refuse('this target has never taken a release');
      if (request.to === undefined) return;
      const meant = findRevision(state, request.to);
      if ('problem' in meant) refuse(meant.problem);
    }),
  });
  setHandler(
    rollbackSignal,
    async (message) => {
      const request = readRollbackMessage(message, 'signal', uuid4());
      const answer = typeof request === 'string' ? { refused: request } : await takeRollback(request);
      if ('refused' in answer) desk.ignore('rollback', answer.refused);
    },
    {
      description: 'The same, fire and forget: {"reason": "…", "to": "revision or release, optional"}',
    },
  );
  setHandler(restoringSignal, (message) => {
    const restoring = readRestoring(message);
    if (typeof restoring === 'string') desk.ignore('restoring', restoring);
    else if (running?.releaseId === restoring.releaseId)
      running = { ...running, restores: restoring.revisionId };
  });
  handleHolds(desk);
  handleWithdrawals(desk, abortWithdrawn);
  handleQuarantine(desk);
  handleUndelivered(desk);
  passInterventionsOn(desk, () => (running?.kind === 'release' && child !== null ? child : undefined));
  const view = (): TargetView =>
    doorway.door === 'open' ? { state, running } : { state, running, recovering: true };
  setHandler(viewQuery, view, { description: 'Queue, hold, history, what runs' });
  const find = (id: string): Lookup | null => {
    if (doorway.door !== 'open') return READING;
    return lookUp(state, running, id) ?? (answering.has(id) ? ASKING : null);
  };
  setHandler(lookupQuery, find, {
    description: 'Where a release or a rollback request stands',
  });

  change(state);
  mark();
  let left = await recoverTarget(desk, put, input.recordStore);
  const keeper = new StateKeeper(desk, input.recordStore, startsAs === state ? state : null);
  void keeper.keep();
  const lateWatch = new LateWatch(desk, async (counter) => {
    await condition(() => child !== null || running === null);
    await preempt(counter);
  });
  void lateWatch.keep();
  void whenCanceled(() => desk.ignore('cancel', 'a target does not end: "slipway hold" stops releases'));
  const overrides = (): StepOverrides => state.lastRequest?.steps ?? {};
  const isToRollBack = (): boolean => state.rollbacks.length > 0;
  const goesFirst = (): boolean => isToRollBack() && !runLength.isExhausted;
  const hasWork = (): boolean => isToRollBack() || state.queue.length > 0;

  for (;;) {
    runLength.note();
    takeUnknownSignals((name, reason) => desk.ignore(name, reason));
    // What waits goes over to the new run, so that a queue that is never empty cannot keep this one; only a rollback
    // does not wait for that, as long as there are few.
    if (runLength.isReached && !goesFirst()) {
      await notices.begun();
      await keeper.written();
      if ((await runLength.canEnd(goesFirst)) && notices.allBegun && keeper.isWritten) {
        await continueAsNew<typeof target>({ ...input, state });
      }
      continue;
    }
    const next = left === undefined ? takeNext(state) : { state, work: left };
    if (next !== undefined) {
      running = describeWork(next.work);
      change(next.state);
      const { spec: lastSpec } = state;
      if (left === undefined) {
        child = await startWork(next.work, state, running.workflowId);
        mark();
        if (state.spec !== null) notices.tell(startNotice(state.spec, next.work), state.lastRequest);
      } else {
        child = adoptWork(running.workflowId);
        left = undefined;
      }
      // What was said between queueing and starting has not reached the child yet.
      const [waiting] = state.rollbacks;
      if (running.kind === 'release' && waiting !== undefined) await preempt(waiting);
      const withdrawn = withdrawnBy(state, running.releaseId);
      if (withdrawn !== undefined) await abortWithdrawn(withdrawn);
      const settings = next.work.kind === 'release' ? next.work.request.target : lastSpec;
      const result = await resultOf(child, next.work, state);
      running = null;
      child = null;
      const watchMs = stepPolicy('watch', overrides()).scheduleToCloseMs;
      change(keepSettings(recordResult(state, result, watchMs), result, settings));
      if (next.work.kind === 'release') {
        const artifact = artifactIdentity(next.work.request.artifact);
        change(rejectQuarantined(countFailedChecks(state, result, artifact, now()), now()));
      }
      mark();
      await lateWatch.counterOvertakers();
      continue;
    }
    await condition(() => {
      takeUnknownSignals((name, reason) => desk.ignore(name, reason));
      return hasWork() || (runLength.isReached && allHandlersFinished());
    });
  }
}

/** Nothing can be said of a release yet, and a client that follows it goes on waiting. */
const READING: Lookup = { state: 'queued', reason: 'the target reads its earlier state' };
const ASKING: Lookup = { state: 'queued', reason: 'the target asks the control plane first' };

/** Why a rollback is refused: then nothing is held or stopped. */
interface Refused {
  readonly refused: string;
}

/** The state after a rollback was asked for, which tells of it unless it was told before. */
function tellRollback(
  { state, answer: { disposition, reason } }: ReturnType<typeof requestRollback>,
  { requestedBy: by }: RollbackRequest,
): TargetState {
  const at = now();
  if (disposition === 'ignored') return ignoreMessage(state, 'rollback', reason, at);
  return disposition === 'joined' ? state : noteSaid(state, { at, message: 'rollback', by, note: reason });
}

/** Refuses an update whose message a reader has found wrong: the reader's sentence is the reason. */
function refuseWhere(problem: unknown): void {
  if (typeof problem === 'string') refuse(problem);
}
