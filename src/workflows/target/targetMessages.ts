import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { currentUpdateInfo, type ExternalWorkflowHandle, setHandler, uuid4 } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import { isAnother } from '../../domain/deployment/revision.ts';
import { findRevision, noRevision } from '../../domain/deployment/revisionName.ts';
import { readGuardReport } from '../../domain/guard/guarding.ts';
import { INTERVENTION_KINDS } from '../../domain/intervention/intervention.ts';
import { releaseRequestProblem } from '../../domain/release/requestProblem.ts';
import { isRecord } from '../../domain/scalars.ts';
import {
  findArtifact,
  findQuarantined,
  isHeldAgainst,
  quarantineArtifact,
  unquarantineArtifact,
} from '../../domain/target/quarantine.ts';
import { withdrawSubmission } from '../../domain/target/submissions.ts';
import {
  rejectQuarantined,
  releaseHold,
  setHold,
  withdrawReleases,
} from '../../domain/target/targetQueue.ts';
import {
  type Lookup,
  lookUp,
  noteAccepted,
  noteUndelivered,
  retireDeployment,
  type TargetState,
} from '../../domain/target/targetState.ts';
import { readSender } from '../../messages/fields.ts';
import { INTERVENTION_SIGNALS } from '../../messages/release.ts';
import {
  readQuarantineMessage,
  readRestoring,
  readRollbackMessage,
  readWithdrawMessage,
  readUndelivered,
  changingSignal,
  holdSignal,
  holdUpdate,
  lookupQuery,
  quarantineSignal,
  quarantineUpdate,
  restoringSignal,
  retireUpdate,
  rollbackSignal,
  rollbackUpdate,
  guardEndedSignal,
  submitReleaseUpdate,
  type TargetView,
  undeliveredSignal,
  unholdSignal,
  unholdUpdate,
  unquarantineSignal,
  unquarantineUpdate,
  viewQuery,
  waitsAgainSignal,
  withdrawSignal,
  withdrawUpdate,
} from '../../messages/target.ts';
import { explain, refuse } from '../failure.ts';
import { now } from '../journal.ts';
import { whenOpen, messageGate } from './messageGate.ts';
import type { Target } from './target.ts';
import type { Taken } from './targetCore.ts';

export function handleTargetMessages(target: Target): void {
  handleReleases(target);
  handleRollbacks(target);
  handleHolds(target);
  handleWithdrawals(target);
  handleQuarantine(target);
  handleReports(target);
  forwardInterventions(target);
  answerQueries(target);
}

/** A message that people can send as an update or as a signal. Both are validated and handled in the same way. */
interface TargetMessage<Message, Read, Answer> {
  readonly update: UpdateDefinition<Answer, [Message]>;
  readonly signal: SignalDefinition<[Message?]>;
  readonly description: string;
  /** The parsed message, or a sentence that says what is wrong with it. `newId` supplies a missing id. */
  readonly read: (raw: unknown, origin: 'update' | 'signal', newId: () => string) => Read | string;
  /** Why the message cannot be used now; `undefined` if it can. */
  readonly wrongMoment?: (read: Read) => string | undefined;
  readonly take: (read: Read) => Taken<Answer> | Promise<Taken<Answer>>;
}

/** Rejects an invalid update before Temporal accepts it. Records an invalid signal as ignored. */
function handleMessage<Message, Read extends object, Answer>(
  target: Target,
  { update, signal, description, read, wrongMoment, take }: TargetMessage<Message, Read, Answer>,
): void {
  const readUpdate = (raw: unknown, newId: () => string): Read => {
    const message = read(raw, 'update', newId);
    if (typeof message === 'string') refuse(message);
    const problem = wrongMoment?.(message);
    if (problem !== undefined) refuse(problem, 'SLIPWAY_WRONG_MOMENT');
    return message;
  };
  // A synchronous result is recorded synchronously, so that messages that arrive together keep their order.
  const takeAnd = <T>(message: Read, then: (taken: Taken<Answer>) => T): T | Promise<T> => {
    const taken = take(message);
    return taken instanceof Promise ? taken.then(then) : then(taken);
  };
  const ignore = (reason: string | undefined): void => {
    if (reason !== undefined) target.ignore(signal.name, reason);
  };
  const validate = (raw: unknown): Read => readUpdate(raw, () => 'validated');
  whenOpen(update, (raw) => void validate(raw));
  setHandler(
    update,
    (raw) => {
      target.updateTaken();
      return takeAnd(readUpdate(raw, uuid4), (taken) => {
        target.updateTaken();
        return 'refused' in taken ? refuse(taken.refused) : taken.answer;
      });
    },
    {
      description,
      validator: (raw) => void validate(raw),
    },
  );
  setHandler(
    signal,
    (raw) => {
      const message = read(raw, 'signal', uuid4);
      const problem = typeof message === 'string' ? message : wrongMoment?.(message);
      if (typeof message !== 'string' && problem === undefined)
        return takeAnd(message, (taken) => ignore('refused' in taken ? taken.refused : taken.unused));
      ignore(problem);
    },
    { description: `${description}. A signal has no answer: "view" shows what came of it` },
  );
}

function handleReleases(target: Target): void {
  setHandler(
    submitReleaseUpdate,
    (request) => {
      target.updateTaken();
      return target.submit(currentUpdateInfo()?.id ?? '', request);
    },
    {
      description: 'Queue a release; joins one with the same request key',
      validator: whenOpen(submitReleaseUpdate, (request) => {
        const problem = releaseRequestProblem(request);
        if (problem !== undefined) refuse(problem);
      }),
    },
  );
}

function handleRollbacks(target: Target): void {
  handleMessage(target, {
    update: rollbackUpdate,
    signal: rollbackSignal,
    description: 'Restore an earlier verified revision, before everything that waits',
    read: (raw, origin, newId) => {
      const request = readRollbackMessage(raw, origin, newId());
      if (typeof request === 'string') return request;
      if (target.state.spec === null) return 'this target has never taken a release';
      const report = isRecord(raw) ? readGuardReport(raw['report']) : '';
      // A refusal by `take` is kept as the answer, which the sender of a signal can look up.
      const read = { request, report, origin };
      if (request.to === undefined || origin === 'signal') return read;
      return namedProblem(target.state, request.to) ?? read;
    },
    take: ({ request, report, origin }) => {
      if (typeof report !== 'string') target.takeGuardReport(report);
      return target.rollbacks.take(request, origin);
    },
  });
}

/** Why a named revision cannot be restored, as far as the target knows: for example, its deployment was deleted. */
function namedProblem(state: TargetState, named: string): string | undefined {
  const meant = findRevision(state, named);
  if ('problem' in meant) return meant.problem;
  if (!('revisionId' in meant)) return undefined;
  const { revisionId } = meant;
  const made = state.history.find((row) => row.revisionId === revisionId);
  return isAnother(made?.deploymentId ?? null, state.owns)
    ? noRevision(state, named, 'another deployment has replaced the one with')
    : undefined;
}

function handleHolds(target: Target): void {
  handleMessage(target, {
    update: holdUpdate,
    signal: holdSignal,
    description: 'Take no release until "unhold"',
    read: readSender,
    take: (by) => {
      const note = 'no release is taken until "unhold"';
      const isChanged = say(target, setHold(target.state, by, now()), 'hold', by, note);
      return { answer: true, unused: isChanged ? undefined : 'the target is on hold already' };
    },
  });
  handleMessage(target, {
    update: unholdUpdate,
    signal: unholdSignal,
    description: 'Take releases again',
    read: readSender,
    take: (by) => {
      const isChanged = say(target, releaseHold(target.state), 'unhold', by, 'releases are taken again');
      return { answer: false, unused: isChanged ? undefined : 'the target is not on hold' };
    },
  });
}

function handleWithdrawals(target: Target): void {
  handleMessage(target, {
    update: withdrawUpdate,
    signal: withdrawSignal,
    description: 'Withdraw releases that wait, or a submission wherever it has got to',
    read: readWithdrawMessage,
    wrongMoment: ({ release, submission }) => {
      if (submission !== undefined) return undefined;
      const { queue } = target.state;
      if (release === undefined) return queue.length > 0 ? undefined : 'no release waits';
      return queue.some(({ releaseId }) => releaseId === release)
        ? undefined
        : `no release "${release}" waits`;
    },
    take: ({ release, submission, by }) => {
      if (submission === undefined) {
        const { state, withdrawn } = withdrawReleases(target.state, release, by, now());
        say(target, state, 'withdraw', by, `withdrawn: ${withdrawn.join(', ')}`);
        return { answer: withdrawn };
      }
      const { state, releaseId, stops, note } = withdrawSubmission(
        target.state,
        target.running,
        submission,
        by,
        now(),
      );
      say(target, state, 'withdraw', by, note);
      const taken = { answer: releaseId === null ? [] : [releaseId] };
      return stops ? target.abortWithdrawn(by).then(() => taken) : taken;
    },
  });
}

function handleQuarantine(target: Target): void {
  const read = (raw: unknown, origin: string): { readonly artifact: string; readonly by: Actor } | string => {
    const message = readQuarantineMessage(raw, origin);
    if (typeof message === 'string') return message;
    const found = findArtifact(target.state, message.artifact);
    return 'problem' in found ? found.problem : { artifact: found.artifact, by: message.by };
  };
  /** The answer, once what runs knows of it, if it may restore a revision with the artifact. */
  const reported = (artifact: string, taken: Taken<string>): Taken<string> | Promise<Taken<string>> =>
    target.state.known.some((revision) => revision.artifact === artifact)
      ? target.reportQuarantined().then(() => taken)
      : taken;
  handleMessage(target, {
    update: quarantineUpdate,
    signal: quarantineSignal,
    description: 'Take no release of an artifact any more',
    read,
    take: ({ artifact, by }) => {
      const isIn = findQuarantined(target.state, artifact) !== undefined;
      if (isIn) target.change(rejectQuarantined(target.state, now()));
      else {
        const next = quarantineArtifact(target.state, artifact, by, now());
        if (next === target.state) return { refused: 'too many artifacts are in quarantine: end one first' };
        say(target, rejectQuarantined(next, now()), 'quarantine', by, artifact);
      }
      const unused = isIn ? `${artifact} is in quarantine already` : undefined;
      return reported(artifact, { answer: artifact, unused });
    },
  });
  handleMessage(target, {
    update: unquarantineUpdate,
    signal: unquarantineSignal,
    description: 'Take releases of an artifact again',
    read,
    take: ({ artifact, by }) => {
      const { state } = target;
      const isIn = findQuarantined(state, artifact) !== undefined || isHeldAgainst(state, artifact);
      if (isIn) say(target, unquarantineArtifact(state, artifact), 'unquarantine', by, artifact);
      const unused = isIn ? undefined : `${artifact} is not in quarantine`;
      return reported(artifact, { answer: artifact, unused });
    },
  });
}

/**
 * Applies a change that a person asked for, and records who asked.
 * @returns whether the state changed.
 */
function say(target: Target, next: TargetState, message: string, by: Actor, note: string): boolean {
  if (next === target.state) return false;
  target.change(noteAccepted(next, { at: now(), message, by, note }));
  return true;
}

/** Handles the messages from the target's own releases and notices, and from its preview. */
function handleReports(target: Target): void {
  setHandler(
    retireUpdate,
    () => {
      target.updateTaken();
      target.change(retireDeployment(target.state));
      return true;
    },
    { description: 'Forget the revisions of a deployment that was deleted' },
  );
  setHandler(changingSignal, (releaseId) => target.noteChanging(releaseId));
  setHandler(waitsAgainSignal, (releaseId) => target.noteWaitingAgain(releaseId));
  setHandler(restoringSignal, (message) => {
    const restoring = readRestoring(message);
    if (typeof restoring === 'string') target.ignore('restoring', restoring);
    else target.noteRestoring(restoring.releaseId, restoring.revisionId);
  });
  setHandler(guardEndedSignal, (message) => {
    const report = readGuardReport(message);
    if (typeof report === 'string') target.ignore('guardEnded', report);
    // A guard reports "preempted" when the target itself has ended it.
    else if (!target.takeGuardReport(report) && report.verdict !== 'preempted')
      target.ignore('guardEnded', `the guard of ${report.releaseId} is not in force`);
  });
  setHandler(undeliveredSignal, (message) => {
    const undelivered = readUndelivered(message);
    if (typeof undelivered === 'string') target.ignore('undelivered', undelivered);
    else target.change(noteUndelivered(target.state, undelivered));
  });
}

/**
 * Forwards signals to the running release, so that people need only the target's workflow id. Each waits for the one before,
 * because the server may deliver two signals of one workflow task in either order: a pause would come after its resume.
 */
function forwardInterventions(target: Target): void {
  let last: Pick<ExternalWorkflowHandle, 'signal'> | undefined;
  let forwarded = 0;
  let delivered = Promise.resolve();
  for (const kind of INTERVENTION_KINDS) {
    setHandler(INTERVENTION_SIGNALS[kind], async (message) => {
      if (target.isStarting) await target.started();
      const release = target.runningRelease;
      if (release === undefined) {
        target.ignore(kind, 'no release runs');
        return;
      }
      if (release !== last) forwarded = 0;
      last = release;
      if (forwarded >= FORWARDED_MAX) {
        target.ignore(kind, `${FORWARDED_MAX} messages were passed on to the release that runs`);
        return;
      }
      forwarded++;
      delivered = delivered
        .then(() => release.signal(INTERVENTION_SIGNALS[kind], message))
        .catch((error: unknown) => target.ignore(kind, explain(error).message));
      await delivered;
    });
  }
}

/**
 * More messages than people send to one release. Each forwarded message costs the target two events and the release
 * one workflow task. With 2,000 pending signals, the server fails the target's workflow task again and again. The
 * count covers the whole release, because a count of pending messages would not be deterministic: a replay may
 * reorder arrivals.
 */
const FORWARDED_MAX = 100;

function answerQueries(target: Target): void {
  const view = (): TargetView => {
    const { state, running, rollbacks } = target;
    if (messageGate().state !== 'open') return { state, running, recovering: true };
    const { signaled } = rollbacks;
    return signaled.length === 0 ? { state, running } : { state, running, signaled };
  };
  setHandler(viewQuery, view, { description: 'Queue, hold, history, what runs' });
  const find = (id: string): Lookup | null => {
    if (messageGate().state !== 'open') return READING;
    return lookUp(target.state, target.running, id) ?? target.rollbacks.lookUp(id) ?? null;
  };
  setHandler(lookupQuery, find, { description: 'The state of a release or rollback request' });
}

/** The target does not know more yet, so a client that follows keeps waiting. */
const READING: Lookup = { state: 'queued', reason: 'the target reads its earlier state' };
