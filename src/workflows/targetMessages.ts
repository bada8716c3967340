import { type ExternalWorkflowHandle, setHandler } from '@temporalio/workflow';

import { INTERVENTION_KINDS } from '../domain/intervention.ts';
import { noteUndelivered } from '../domain/notify/undelivered.ts';
import {
  findArtifact,
  findQuarantined,
  isHeldAgainst,
  quarantineArtifact,
  unquarantineArtifact,
} from '../domain/quarantine.ts';
import type { Actor } from '../domain/release.ts';
import { withdrawSubmission } from '../domain/submissions.ts';
import { rejectQuarantined, releaseHold, setHold, withdrawReleases } from '../domain/targetQueue.ts';
import { noteSaid, type Running, type TargetState } from '../domain/targetState.ts';
import { INTERVENTION_SIGNALS } from '../messages/release.ts';
import {
  holdSignal,
  holdUpdate,
  quarantineSignal,
  quarantineUpdate,
  readHoldMessage,
  readQuarantineMessage,
  readUndelivered,
  readWithdrawMessage,
  undeliveredSignal,
  unholdSignal,
  unholdUpdate,
  unquarantineSignal,
  unquarantineUpdate,
  withdrawSignal,
  withdrawUpdate,
} from '../messages/target.ts';
import { atTheDoor } from './doorway.ts';
import { explain, refuse } from './failure.ts';
import { now } from './journal.ts';

/** What the handlers of a target's messages see of it, and may do to it. */
export interface TargetDesk {
  readonly state: TargetState;
  readonly running: Running | null;
  change(next: TargetState): void;
  /** Records a message that is not acted upon, and why. */
  ignore(message: string, reason: string): void;
  /** Notes that this workflow task takes an update. */
  updateTaken(): void;
}

/** Takes `hold` and `unhold`: whether releases are taken. */
export function handleHolds(desk: TargetDesk): void {
  const take = (raw: unknown, origin: string, holding: boolean): boolean => {
    const message = holding ? 'hold' : 'unhold';
    const by = readHoldMessage(raw, origin);
    if (typeof by === 'string') {
      desk.ignore(message, by);
      return desk.state.hold !== null;
    }
    const next = holding ? setHold(desk.state, by, now()) : releaseHold(desk.state);
    if (next === desk.state) {
      if (origin === 'signal') {
        desk.ignore(message, holding ? 'the target is on hold already' : 'the target is not on hold');
      }
      return holding;
    }
    const note = holding ? 'no release is taken until "unhold"' : 'releases are taken again';
    desk.change(noteSaid(next, { at: now(), message, by, note }));
    return holding;
  };
  const validator = (message: unknown): void => {
    const read = readHoldMessage(message, 'update');
    if (typeof read === 'string') refuse(read);
  };
  for (const [update, signal, holding] of [
    [holdUpdate, holdSignal, true],
    [unholdUpdate, unholdSignal, false],
  ] as const) {
    setHandler(
      update,
      (message) => {
        desk.updateTaken();
        return take(message, 'update', holding);
      },
      { validator: atTheDoor(update, validator) },
    );
    setHandler(signal, (message) => {
      take(message, 'signal', holding);
    });
  }
}

/**
 * Takes `withdraw`: releases that wait end before they begin. A submission is withdrawn wherever it has got to.
 *
 * @param stop - tells the release that runs to abort.
 */
export function handleWithdrawals(desk: TargetDesk, stop: (by: Actor) => Promise<void>): void {
  const waits = (release: string | undefined): boolean =>
    desk.state.queue.some((queued) => release === undefined || queued.releaseId === release);
  const noneWaits = (release: string | undefined): string =>
    release === undefined ? 'no release waits' : `no release "${release}" waits`;
  const problemOf = (raw: unknown): string | undefined => {
    const read = readWithdrawMessage(raw, 'update');
    if (typeof read === 'string') return read;
    return read.submission !== undefined || waits(read.release) ? undefined : noneWaits(read.release);
  };
  const takeSubmission = async (id: string, by: Actor): Promise<readonly string[]> => {
    const { state, releaseId, stops, note } = withdrawSubmission(desk.state, desk.running, id, by, now());
    desk.change(noteSaid(state, { at: now(), message: 'withdraw', by, note }));
    if (stops) await stop(by);
    return releaseId === null ? [] : [releaseId];
  };
  const take = async (raw: unknown, origin: string): Promise<readonly string[]> => {
    const read = readWithdrawMessage(raw, origin);
    if (typeof read === 'string') {
      desk.ignore('withdraw', read);
      return [];
    }
    if (read.submission !== undefined) return takeSubmission(read.submission, read.by);
    const { state, withdrawn } = withdrawReleases(desk.state, read.release, read.by, now());
    if (withdrawn.length === 0) desk.ignore('withdraw', noneWaits(read.release));
    else {
      const note = `withdrawn: ${withdrawn.join(', ')}`;
      desk.change(noteSaid(state, { at: now(), message: 'withdraw', by: read.by, note }));
    }
    return withdrawn;
  };
  setHandler(
    withdrawUpdate,
    (message) => {
      desk.updateTaken();
      return take(message, 'update');
    },
    {
      description: 'Withdraw releases that wait, or a submission wherever it has got to',
      validator: atTheDoor(withdrawUpdate, (message) => {
        const problem = problemOf(message);
        if (problem !== undefined) refuse(problem, 'SLIPWAY_WRONG_MOMENT');
      }),
    },
  );
  setHandler(withdrawSignal, async (message) => {
    await take(message, 'signal');
  });
}

/** Takes `quarantine` and `unquarantine`: an artifact that is not released any more, or may be again. */
export function handleQuarantine(desk: TargetDesk): void {
  const read = (raw: unknown, origin: string) => {
    const message = readQuarantineMessage(raw, origin);
    if (typeof message === 'string') return { problem: message };
    const found = findArtifact(desk.state, message.artifact);
    return 'problem' in found ? found : { ...found, by: message.by };
  };
  const take = (raw: unknown, origin: string, name: 'quarantine' | 'unquarantine'): string => {
    const meant = read(raw, origin);
    if ('problem' in meant) {
      desk.ignore(name, meant.problem);
      return '';
    }
    const { artifact, by } = meant;
    const isIn = findQuarantined(desk.state, artifact) !== undefined;
    const isNews = name === 'quarantine' ? !isIn : isIn || isHeldAgainst(desk.state, artifact);
    if (!isNews) {
      if (isIn) desk.change(rejectQuarantined(desk.state, now()));
      if (origin === 'signal') {
        desk.ignore(name, `${artifact} is ${isIn ? 'in quarantine already' : 'not in quarantine'}`);
      }
      return artifact;
    }
    const next =
      name === 'quarantine'
        ? rejectQuarantined(quarantineArtifact(desk.state, artifact, by, now()), now())
        : unquarantineArtifact(desk.state, artifact);
    desk.change(noteSaid(next, { at: now(), message: name, by, note: artifact }));
    return artifact;
  };
  for (const [name, update, signal, description] of [
    ['quarantine', quarantineUpdate, quarantineSignal, 'Take no release of an artifact any more'],
    ['unquarantine', unquarantineUpdate, unquarantineSignal, 'Take releases of an artifact again'],
  ] as const) {
    setHandler(
      update,
      (message) => {
        desk.updateTaken();
        return take(message, 'update', name);
      },
      {
        description,
        validator: atTheDoor(update, (message) => {
          const meant = read(message, 'update');
          if ('problem' in meant) refuse(meant.problem);
        }),
      },
    );
    setHandler(signal, (message) => {
      take(message, 'signal', name);
    });
  }
}

/** Takes `undelivered`: what a receiver could not be told is kept as a warning, and changes nothing else. */
export function handleUndelivered(desk: TargetDesk): void {
  setHandler(undeliveredSignal, (message) => {
    const undelivered = readUndelivered(message);
    if (typeof undelivered === 'string') desk.ignore('undelivered', undelivered);
    else desk.change(noteUndelivered(desk.state, undelivered));
  });
}

/** Passes on what is said by signal to the release that runs, so that the target's id is all that has to be known. */
export function passInterventionsOn(
  desk: TargetDesk,
  runningRelease: () => Pick<ExternalWorkflowHandle, 'signal'> | undefined,
): void {
  let told: ReturnType<typeof runningRelease>;
  let passedOn = 0;
  for (const kind of INTERVENTION_KINDS) {
    setHandler(INTERVENTION_SIGNALS[kind], async (message) => {
      const release = runningRelease();
      if (release === undefined) {
        desk.ignore(kind, 'no release runs');
        return;
      }
      if (release !== told) passedOn = 0;
      told = release;
      if (passedOn >= PASSED_ON_MAX) {
        desk.ignore(kind, `${PASSED_ON_MAX} messages were passed on to the release that runs`);
        return;
      }
      passedOn++;
      try {
        await release.signal(INTERVENTION_SIGNALS[kind], message);
      } catch (error) {
        desk.ignore(kind, explain(error).message);
      }
    });
  }
}

/**
 * More than people ever say to one release. Each message that is passed on costs the target two events and the release a
 * workflow task, and the server fails the task of a workflow that has 2,000 on their way, again and again: a flood must
 * not be passed on. Counted over the whole release, and not over those on their way: when these arrive is told in another
 * order where the workflow is rebuilt from its history.
 */
const PASSED_ON_MAX = 100;
