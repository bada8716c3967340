import { type ExternalWorkflowHandle, setHandler } from '@temporalio/workflow';

import { INTERVENTION_KINDS } from '../domain/intervention.ts';
import { readQuarantineMessage, readWithdrawMessage } from '../domain/message.ts';
import { findArtifact, quarantineArtifact, unquarantineArtifact } from '../domain/quarantine.ts';
import { withdrawReleases } from '../domain/targetQueue.ts';
import { type TargetState } from '../domain/targetState.ts';
import { explain, refuse } from './failure.ts';
import { now } from './journal.ts';
import {
  INTERVENTION_SIGNALS,
  quarantineSignal,
  quarantineUpdate,
  unquarantineSignal,
  unquarantineUpdate,
  withdrawSignal,
  withdrawUpdate,
} from './messages.ts';

/** What the handlers of a target's messages see of it, and may do to it. */
export interface TargetDesk {
  readonly state: TargetState;
  change(next: TargetState): void;
  /** Records a message that is not acted upon, and why. */
  ignore(message: string, reason: string): void;
  /** Notes that this workflow task takes an update. */
  updateTaken(): void;
}

/** Takes `withdraw`: releases that wait end before they begin. */
export function handleWithdrawals(desk: TargetDesk): void {
  const waits = (release: string | undefined): boolean =>
    desk.state.queue.some((queued) => release === undefined || queued.releaseId === release);
  const problemOf = (raw: unknown): string | undefined => {
    const read = readWithdrawMessage(raw, 'update');
    if (typeof read === 'string') return read;
    if (waits(read.release)) return undefined;
    return read.release === undefined ? 'no release waits' : `no release "${read.release}" waits`;
  };
  const take = (raw: unknown, origin: string): readonly string[] => {
    const read = readWithdrawMessage(raw, origin);
    if (typeof read === 'string') {
      desk.ignore('withdraw', read);
      return [];
    }
    const { state, withdrawn } = withdrawReleases(desk.state, read.release, read.by, now());
    if (withdrawn.length === 0) desk.ignore('withdraw', 'no such release waits');
    else desk.change(state);
    return withdrawn;
  };
  setHandler(
    withdrawUpdate,
    (message) => {
      desk.updateTaken();
      return take(message, 'update');
    },
    {
      description: 'Withdraw releases that wait',
      validator: (message) => {
        const problem = problemOf(message);
        if (problem !== undefined) refuse(problem, 'SLIPWAY_WRONG_MOMENT');
      },
    },
  );
  setHandler(withdrawSignal, (message) => {
    take(message, 'signal');
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
    desk.change(
      name === 'quarantine'
        ? quarantineArtifact(desk.state, artifact, by, now())
        : unquarantineArtifact(desk.state, artifact),
    );
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
        validator: (message) => {
          const meant = read(message, 'update');
          if ('problem' in meant) refuse(meant.problem);
        },
      },
    );
    setHandler(signal, (message) => {
      take(message, 'signal', name);
    });
  }
}

/** Passes on what is said by signal to the release that runs, so that the target's id is all that has to be known. */
export function passInterventionsOn(
  desk: TargetDesk,
  runningRelease: () => Pick<ExternalWorkflowHandle, 'signal'> | undefined,
): void {
  for (const kind of INTERVENTION_KINDS) {
    setHandler(INTERVENTION_SIGNALS[kind], async (message) => {
      const release = runningRelease();
      if (release === undefined) {
        desk.ignore(kind, 'no release runs');
        return;
      }
      try {
        await release.signal(INTERVENTION_SIGNALS[kind], message);
      } catch (error) {
        desk.ignore(kind, explain(error).message);
      }
    });
  }
}
