import { randomUUID } from 'node:crypto';

import { expect } from 'vitest';

import type { InterventionKind } from '../../../src/domain/intervention.ts';
import { always, type Command, command, expectAnswer, underWay } from './commands.ts';
import type { ArtifactName } from './plan.ts';
import { artifactOf } from './scriptedWorld.ts';
import { refusal } from './subject.ts';
import type { Rollback, TargetModel } from './targetModel.ts';

export type Way = 'update' | 'signal';

const BO = { who: 'bo', reason: 'a reason' };

/** Where a rollback goes: to the one before, to a slip of the pen, or to one of the revisions that there are. */
export type Where = 'the one before' | 'a slip of the pen' | number;

/** A person rolls back. */
export function rollBackTo(where: Where, way: Way, again: boolean): Command {
  const name = `rollback by ${way} to ${where}${again ? ', said again' : ''}`;
  return command(name, always, async (model, subject) => {
    const to = whereTo(model, where);
    const said = again ? model.requestIds.at(-1) : undefined;
    const requestId = said ?? randomUUID();
    const message = {
      ...BO,
      requestId,
      ...(to === undefined ? {} : { to: to === 'slip' ? 'no-revision' : subject.world.revisionId(to) }),
    };
    if (way === 'signal') {
      await begun(model, () => subject.target.signal('rollback', message));
      takeRollback(model, { id: requestId, to });
      return;
    }
    if (!model.taken) {
      await begun(model, async () =>
        expectAnswer(await refusal(subject.target.rollback(message)), 'never taken a release'),
      );
      return;
    }
    const disposition = takeRollback(model, { id: requestId, to });
    expect((await subject.target.rollback(message)).disposition).toBe(disposition);
  });

  /** Nothing can be said to a target that nobody has started. */
  async function begun(model: TargetModel, say: () => Promise<void>): Promise<void> {
    if (model.started) await say();
  }
}

export function hold(holding: boolean, way: Way): Command {
  return command(`${holding ? 'hold' : 'unhold'} by ${way}`, started, async (model, subject) => {
    const name = holding ? 'hold' : 'unhold';
    if (way === 'signal' && holding === (model.hold !== null)) model.ignored++;
    if (holding && model.hold === null) {
      model.reject(({ plan }) => !plan.overrideHold);
      model.hold = { by: 'a person' };
    }
    if (!holding) model.hold = null;
    if (way === 'signal') await subject.target.signal(name, BO);
    else expect(await subject.target.handle.executeUpdate(name, { args: [BO] })).toBe(holding);
  });
}

export function quarantine(artifact: ArtifactName, putting: boolean, way: Way): Command {
  const name = putting ? 'quarantine' : 'unquarantine';
  return command(`${name} ${artifact} by ${way}`, started, async (model, subject) => {
    const message = { ...BO, artifact: artifactOf(artifact) };
    const changes = putting ? !model.quarantined.has(artifact) : model.isHeldAgainst(artifact);
    if (way === 'signal' && !changes) model.ignored++;
    if (putting) model.quarantine(artifact);
    else model.unquarantine(artifact);
    if (way === 'signal') await subject.target.signal(name, message);
    else expect(await subject.target.handle.executeUpdate(name, { args: [message] })).toBe(message.artifact);
  });
}

export function withdraw(way: Way): Command {
  return command(`withdraw by ${way}`, started, async (model, subject) => {
    const ids = model.queue.map(({ id }) => id);
    model.neverStarted(ids, 'aborted');
    model.queue = [];
    if (way === 'signal') {
      if (ids.length === 0) model.ignored++;
      await subject.target.signal('withdraw', BO);
      return;
    }
    const withdrawing = subject.target.handle.executeUpdate('withdraw', { args: [BO] });
    if (ids.length > 0) expect(await withdrawing).toEqual(ids);
    else expectAnswer(await refusal(withdrawing), 'no release waits');
  });
}

/** What nobody can make sense of: ignored, and nothing else. */
export function garbage(name: string, content: unknown, way: Way): Command {
  return command(
    `garbage as ${name} by ${way}: ${JSON.stringify(content)}`,
    started,
    async (model, subject) => {
      if (way === 'update') {
        const refused = await refusal(subject.target.handle.executeUpdate(name, { args: [content] }));
        expect(refused).toEqual(expect.any(String));
        return;
      }
      model.ignored++;
      await subject.target.signal(name, content);
    },
  );
}

/** A person says something to the release under way: by its own update, or by a signal to the target. */
export function say(kind: InterventionKind, way: Way): Command {
  const possible = (model: TargetModel): boolean =>
    model.running !== null || (way === 'signal' && model.started);
  return command(`${kind} by ${way}`, possible, async (model, subject) => {
    if (model.running === null) {
      model.ignored++;
      await subject.target.signal(kind, BO);
      return;
    }
    const running = underWay(model);
    const because = whyNot(model, kind);
    if (way === 'update') {
      const refused = await subject.say(running.id, kind);
      expectAnswer(refused, because);
    } else {
      await subject.saySignal(running.id, kind, BO);
    }
    if (because === undefined) act(model, kind);
  });
}

function started(model: TargetModel): boolean {
  return model.started;
}

function whereTo(model: TargetModel, where: Where): Rollback['to'] {
  if (where === 'the one before') return undefined;
  if (where === 'a slip of the pen') return 'slip';
  const revisions = [...model.revisions.keys()].filter(
    (revision) => revision !== model.running?.revision && model.revisions.get(revision) !== 'hangs',
  );
  return revisions.length === 0 ? 'slip' : revisions[where % revisions.length];
}

/** @returns how it is answered. */
function takeRollback(model: TargetModel, rollback: Rollback): string {
  const { running, rollbacks } = model;
  const ignore = (): string => {
    model.ignored++;
    return 'ignored';
  };
  if (!model.started) return '';
  if (model.requestIds.includes(rollback.id)) return 'joined';
  if (!model.taken) return ignore();
  if (rollback.to === undefined && rollbacks.length > 0) return ignore();
  if (rollback.to === undefined && running === null && model.hold !== null) return ignore();
  if (rollbacks.some(({ to }) => to === rollback.to)) return 'joined';
  model.requestIds.push(rollback.id);
  model.reject(always);
  model.rollbacks = [...rollbacks, rollback];
  model.hold ??= { by: rollback.id };
  if (running === null) return 'queued';
  running.preemptedBy ??= rollback;
  running.stop();
  return 'preempting';
}

/** Why something cannot be said to the release at this moment. */
function whyNot(model: TargetModel, kind: InterventionKind): string | undefined {
  const running = underWay(model);
  if (running.stopped) return 'putting an earlier revision back';
  switch (kind) {
    case 'abort':
      return undefined;
    case 'pause':
      return running.paused ? 'is paused already' : undefined;
    case 'resume':
      return running.paused ? undefined : 'is not paused';
    case 'approve':
    case 'reject':
      return running.stage === 'approval' ? undefined : 'does not wait for approval';
    case 'retry':
      return running.stage === 'decision' ? undefined : 'waits for a decision';
    case 'skip':
      return running.checkLiesAhead ? undefined : 'lies ahead';
  }
}

function act(model: TargetModel, kind: InterventionKind): void {
  const running = underWay(model);
  switch (kind) {
    case 'abort':
    case 'reject':
      running.aborted = true;
      running.stop();
      break;
    case 'pause':
      running.paused = true;
      break;
    case 'resume':
      running.paused = false;
      if (running.stage === 'paused') running.goOn();
      break;
    case 'approve':
      running.open();
      break;
    case 'retry':
      running.retry();
      break;
    case 'skip':
      running.skip();
      break;
  }
}
