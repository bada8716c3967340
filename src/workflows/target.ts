import {
  allHandlersFinished,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  sleep,
  upsertMemo,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';

import { artifactIdentity } from '../domain/artifact.ts';
import { readHoldMessage, readRollbackMessage } from '../domain/message.ts';
import { type ReleaseRequest, type RollbackRequest } from '../domain/release.ts';
import { countFailedChecks } from '../domain/quarantine.ts';
import { releaseRequestProblem } from '../domain/requestProblem.ts';
import { type StepOverrides } from '../domain/step.ts';
import { tellTarget } from '../domain/story.ts';
import { releaseHold, requestRollback, setHold, submitRelease, takeNext } from '../domain/targetQueue.ts';
import { counterLateRevision, forgetLateRevision, recordResult } from '../domain/targetResult.ts';
import {
  EMPTY_TARGET,
  ignoreMessage,
  lookUp,
  type ReleaseAnswer,
  type RollbackAnswer,
  type Running,
  type TargetState,
} from '../domain/targetState.ts';
import { explain, refuse } from './failure.ts';
import { now } from './journal.ts';
import {
  holdSignal,
  holdUpdate,
  lookupQuery,
  preemptSignal,
  rollbackSignal,
  rollbackUpdate,
  submitReleaseUpdate,
  type TargetInput,
  unholdSignal,
  unholdUpdate,
  viewQuery,
} from './messages.ts';
import { activitiesOf, stepPolicy } from './steps.ts';
import {
  handleQuarantine,
  handleWithdrawals,
  passInterventionsOn,
  type TargetDesk,
} from './targetMessages.ts';
import { watchLateRevisions } from './watchLateRevisions.ts';
import { describeWork, resultOf, startWork, type WorkHandle } from './work.ts';

const CONTINUE_AS_NEW_AFTER_EVENTS = 4_000;

/**
 * One target's life: queue, lock, hold, history. It decides what runs on the target and when, one thing at a time;
 * it never touches the deployment itself. It lives on until it is terminated, continuing as new between two pieces of
 * work.
 */
export async function target(input: TargetInput = {}): Promise<void> {
  // What an earlier version carried over has not every field.
  let state: TargetState = { ...EMPTY_TARGET, ...input.state };
  let running: Running | null = null;
  let child: WorkHandle | null = null;
  /** The length of the history in the workflow task that took the last update. */
  let updateTakenAt = 0;

  const change = (next: TargetState): void => {
    state = next;
    setCurrentDetails(tellTarget(state, running));
  };

  /**
   * Notes what runs and what serves in the memo, which Temporal's lists show. It is also what keeps the history
   * replayable: a workflow task that resolves something and commands nothing may be run together with the update after
   * it when the workflow is rebuilt from its history, and then the update comes first (temporalio/sdk-rust#1146). So
   * everything that this workflow waits for ends in a command.
   */
  const mark = (): void =>
    upsertMemo({ running: running?.releaseId ?? null, serves: state.activeRevisionId });

  /** Tells the running release to stop. One that has just ended needs no telling: its result says what it did. */
  const preempt = async (request: RollbackRequest): Promise<void> => {
    try {
      await child?.signal(preemptSignal, request);
    } catch (error) {
      change(ignoreMessage(state, 'preempt', explain(error).message, now()));
    }
  };

  const takeRollback = async (raw: unknown, origin: string): Promise<RollbackAnswer> => {
    const request = readRollbackMessage(raw, origin, uuid4());
    if (typeof request === 'string') {
      change(ignoreMessage(state, 'rollback', request, now()));
      return { requestId: '', disposition: 'ignored', reason: request };
    }
    const taken = requestRollback(state, running, request, now());
    change(
      taken.answer.disposition === 'ignored'
        ? ignoreMessage(taken.state, 'rollback', taken.answer.reason, now())
        : taken.state,
    );
    if (taken.preempt) await preempt(request);
    return taken.answer;
  };

  const takeHold = (raw: unknown, origin: string, holding: boolean): boolean => {
    const by = readHoldMessage(raw, origin);
    if (typeof by === 'string') {
      change(ignoreMessage(state, holding ? 'hold' : 'unhold', by, now()));
      return state.hold !== null;
    }
    change(holding ? setHold(state, by, now()) : releaseHold(state));
    return state.hold !== null;
  };

  /** Somebody may have changed the deployment by hand: what is said to serve must be what serves. */
  const lookAgain = async (request: ReleaseRequest): Promise<ReleaseAnswer> => {
    const activeRevisionId = await readWhatServes(request);
    updateTakenAt = workflowInfo().historyLength;
    const { state: next, answer } = submitRelease({ ...state, activeRevisionId }, running, request, now());
    change(next);
    return answer;
  };

  setHandler(
    submitReleaseUpdate,
    (request) => {
      updateTakenAt = workflowInfo().historyLength;
      const { state: next, answer } = submitRelease(state, running, request, now());
      if (answer.disposition === 'already_released') return lookAgain(request);
      change(next);
      return answer;
    },
    {
      description: 'Queue a release; joins one with the same request key',
      validator: (request: unknown) => refuseWhere(releaseRequestProblem(request)),
    },
  );
  const onRollbackUpdate = (message: unknown): Promise<RollbackAnswer> => {
    updateTakenAt = workflowInfo().historyLength;
    return takeRollback(message, 'update');
  };
  setHandler(rollbackUpdate, onRollbackUpdate, {
    description: 'Put an earlier verified revision back, before everything that waits',
    validator: (message) => {
      refuseWhere(readRollbackMessage(message, 'update', 'none'));
      if (state.spec === null) refuse('this target has never taken a release');
    },
  });
  setHandler(
    rollbackSignal,
    async (message) => {
      await takeRollback(message, 'signal');
    },
    {
      description: 'The same, fire and forget: {"reason": "…", "to": "revision id, optional"}',
    },
  );
  const holdValidator = (message: unknown): void => refuseWhere(readHoldMessage(message, 'update'));
  const onHoldUpdate = (message: unknown, holding: boolean): boolean => {
    updateTakenAt = workflowInfo().historyLength;
    return takeHold(message, 'update', holding);
  };
  setHandler(holdUpdate, (message) => onHoldUpdate(message, true), { validator: holdValidator });
  setHandler(holdSignal, (message) => {
    takeHold(message, 'signal', true);
  });
  setHandler(unholdUpdate, (message) => onHoldUpdate(message, false), { validator: holdValidator });
  setHandler(unholdSignal, (message) => {
    takeHold(message, 'signal', false);
  });
  const desk: TargetDesk = {
    get state() {
      return state;
    },
    change,
    ignore: (message, reason) => change(ignoreMessage(state, message, reason, now())),
    updateTaken: () => {
      updateTakenAt = workflowInfo().historyLength;
    },
  };
  handleWithdrawals(desk);
  handleQuarantine(desk);
  passInterventionsOn(desk, () => (running?.kind === 'release' && child !== null ? child : undefined));
  setHandler(viewQuery, () => ({ state, running }), { description: 'Queue, hold, history, what runs' });
  setHandler(lookupQuery, (id) => lookUp(state, running, id) ?? null, {
    description: 'Where a release or a rollback request stands',
  });

  change(state);
  mark();
  const historyLimit = input.continueAsNewAfterEvents ?? CONTINUE_AS_NEW_AFTER_EVENTS;
  const historyIsLong = (): boolean =>
    workflowInfo().historyLength >= historyLimit || workflowInfo().continueAsNewSuggested;
  const overrides = (): StepOverrides => state.lastRequest?.steps ?? {};
  const hasWork = (): boolean => state.rollbacks.length > 0 || state.queue.length > 0;

  for (;;) {
    // What waits goes over to the new run, so that a queue that is never empty cannot keep this one; only a rollback
    // does not wait for that.
    if (historyIsLong() && state.rollbacks.length === 0) {
      await condition(allHandlersFinished);
      // Never in the workflow task that completes an update: its answer would be lost.
      if (updateTakenAt !== workflowInfo().historyLength) {
        await continueAsNew<typeof target>({ ...input, state });
      }
      await sleep(1);
      continue;
    }
    const next = takeNext(state);
    if (next !== undefined) {
      running = describeWork(next.work);
      change(next.state);
      child = await startWork(next.work, state, running.workflowId);
      mark();
      // What was said between queueing and starting has not reached the child yet.
      const [waiting] = state.rollbacks;
      if (running.kind === 'release' && waiting !== undefined) await preempt(waiting);
      const result = await resultOf(child, next.work, state);
      running = null;
      child = null;
      change(recordResult(state, result, stepPolicy('watch', overrides()).scheduleToCloseMs));
      if (next.work.kind === 'release') {
        change(countFailedChecks(state, result, artifactIdentity(next.work.request.artifact), now()));
      }
      mark();
      continue;
    }
    const wanted = (): boolean => hasWork() || (historyIsLong() && allHandlersFinished());
    if (state.late.length === 0 || state.spec === null) {
      await condition(wanted);
      continue;
    }
    const ended = await watchLateRevisions(state.spec, state.late, overrides(), wanted);
    if (ended === undefined) continue;
    mark();
    if (ended.problem !== undefined) {
      const reason = `revision ${ended.late.revisionId} is not watched any longer: ${ended.problem}`;
      change(ignoreMessage(state, 'watch', reason, now()));
    }
    change(
      ended.cameUp ? counterLateRevision(state, ended.late, uuid4()) : forgetLateRevision(state, ended.late),
    );
  }
}

const LOOK_MS = 10_000;

/** The active revision as the control plane says; `null` where there is none, or it cannot be read. */
async function readWhatServes({ target: spec, steps }: ReleaseRequest): Promise<string | null> {
  const overrides = { ...steps, find: { ...steps.find, scheduleToCloseMs: LOOK_MS } };
  try {
    const { deployment } = await activitiesOf('find', overrides, 'look at what serves').findDeployment({
      target: spec,
    });
    return deployment?.activeRevisionId ?? null;
  } catch (error) {
    if (explain(error).canceled) throw error;
    return null;
  }
}

/** Refuses an update whose message a reader has found wrong: the reader's sentence is the reason. */
function refuseWhere(problem: unknown): void {
  if (typeof problem === 'string') refuse(problem);
}
