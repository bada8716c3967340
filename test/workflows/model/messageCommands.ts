import { randomUUID } from 'node:crypto';

import { expect } from 'vitest';

import type { InterventionKind } from '../../../src/domain/intervention/intervention.ts';
import { always, type Command, command, expectAnswer, underWay } from './commands.ts';
import type { ArtifactName } from './plan.ts';
import { artifactOf } from './scriptedWorld.ts';
import { refusal, type Subject } from './subject.ts';
import { isSame, type Rollback, type TargetModel } from './targetModel.ts';

export type Channel = 'update' | 'signal';

const BO = { who: 'bo', reason: 'a reason' };
/** Who sets a hold by hand. Distinct from a rollback's hold. */
const PERSON = 'a person';

/** A rollback's destination: the previous revision, a name with a typo, or an existing revision. */
export type Where = 'the one before' | 'an unknown revision' | 'what soaks' | number;
export type By = 'its id' | 'the beginning of its id' | 'its release';
/** What a person says to a release. A skip without a name is that of its check. */
export type Said = InterventionKind | 'skip the soak' | 'skip the freeze';

/** Which revision a rollback without a name leaves: the serving one, any other, or an unspecified one. */
export type Leaving = 'what serves' | 'nothing' | number;

export function rollBackTo(where: Where, by: By, leaving: Leaving, way: Channel, again: boolean): Command {
  const what = where === 'the one before' ? `leaving ${leaving}` : `by ${by}`;
  const name = `rollback by ${way} to ${where}, ${what}${again ? ', said again' : ''}`;
  const possible = ({ running }: TargetModel): boolean => where !== 'what soaks' || running?.soaks === true;
  return command(name, possible, async (model, subject) => {
    const { world, target } = subject;
    const meant = meantBy(model, where, by, (revision) => world.revisionId(revision));
    const from = where === 'the one before' ? fromOf(model, leaving) : undefined;
    const message = {
      ...BO,
      requestId: (again ? model.requestIds.at(-1) : undefined) ?? randomUUID(),
      to: meant.text,
      serving: from === undefined ? undefined : world.revisionId(from),
    };
    const rollback = {
      id: message.requestId,
      to: meant.revision,
      from,
    };
    if (!model.started) return;
    if (way === 'signal') {
      if (meant.isWrong && model.taken) model.ignored++;
      else takeRollback(model, rollback);
      await target.signal('rollback', message);
      return;
    }
    if (!model.taken || meant.isWrong) {
      const because = model.taken ? 'no revision' : 'never taken a release';
      expectAnswer(await refusal(target.rollback(message)), because);
      return;
    }
    const { disposition, serves } = takeRollback(model, rollback);
    const answer = await target.rollback(message);
    expect(answer.disposition).toBe(disposition);
    const said = answer.serves === null ? null : world.revisionNumber(answer.serves.revisionId);
    if (serves !== undefined) expect(said).toBe(serves);
  });
}

export function hold(holding: boolean, way: Channel): Command {
  return command(`${holding ? 'hold' : 'unhold'} by ${way}`, started, async (model, subject) => {
    const name = holding ? 'hold' : 'unhold';
    const changes = holding ? model.hold?.by !== PERSON : model.hold !== null;
    if (way === 'signal' && !changes) model.ignored++;
    if (holding && changes) {
      if (model.hold !== null) model.met.add('a person holds a target that a rollback holds');
      model.reject(({ plan }) => !plan.overrideHold);
      model.hold = { by: PERSON };
    }
    if (!holding) model.hold = null;
    if (way === 'signal') await subject.target.signal(name, BO);
    else expect(await subject.target.handle.executeUpdate(name, { args: [BO] })).toBe(holding);
  });
}

export function quarantine(artifact: ArtifactName, putting: boolean, way: Channel): Command {
  const name = putting ? 'quarantine' : 'unquarantine';
  return command(`${name} ${artifact} by ${way}`, started, async (model, subject) => {
    const message = { ...BO, artifact: artifactOf(artifact) };
    const changes = putting ? !model.quarantined.has(artifact) : model.isHeldAgainst(artifact);
    if (way === 'signal' && !changes) model.ignored++;
    if (putting) model.quarantine(artifact);
    else model.unquarantine(artifact);
    if (way === 'signal') await subject.target.signal(name, message);
    // The answer comes once the running release has got the message.
    if (way === 'update' || model.running !== null)
      expect(await subject.target.handle.executeUpdate(name, { args: [message] })).toBe(message.artifact);
  });
}

export function withdraw(way: Channel): Command {
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

/** An invalid message: it is ignored, with no other effect. */
export function garbage(name: string, content: unknown, way: Channel): Command {
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

/** A person sends an intervention to the running release: by its own update, or by a signal to the target. */
export function say(kind: Said, way: Channel): Command {
  const possible = (model: TargetModel): boolean =>
    model.running !== null || (way === 'signal' && model.started);
  return command(`${kind} by ${way}`, possible, async (model, subject) => {
    if (model.running === null) {
      model.ignored++;
      await subject.target.signal(kind.startsWith('skip') ? 'skip' : kind, BO);
      return;
    }
    await intervene(model, subject, kind, way);
  });
}

async function intervene(model: TargetModel, subject: Subject, kind: Said, way: Channel): Promise<void> {
  const running = underWay(model);
  const because = whyNot(model, kind);
  if (way === 'update') {
    const refused = await subject.say(running.id, kind);
    expectAnswer(refused, because);
  } else {
    await subject.saySignal(running.id, kind, BO);
  }
  if (because === undefined) act(model, kind);
}

/** A person sends an intervention that the running release waits for. */
export function sayWhatFits(pick: number, way: Channel): Command {
  const fitting = ({ running }: TargetModel): readonly Said[] => {
    if (running === null || running.stopped) return [];
    return FITTING[running.stage] ?? [];
  };
  const possible = (model: TargetModel): boolean => fitting(model).length > 0;
  return command(`what fits (${pick}) by ${way}`, possible, async (model, subject) => {
    const kinds = fitting(model);
    const kind = kinds[pick % kinds.length];
    if (kind !== undefined) await intervene(model, subject, kind, way);
  });
}

/** The interventions that end a release's wait, by its stage. More likely ones appear twice. */
const FITTING: Readonly<Record<string, readonly Said[]>> = {
  approval: ['approve', 'approve', 'reject'],
  freeze: ['skip the freeze', 'skip the freeze', 'pause', 'abort'],
  paused: ['resume', 'resume', 'abort'],
  decision: ['retry', 'retry', 'abort'],
  soak: ['skip the soak', 'pause', 'abort'],
};

function started(model: TargetModel): boolean {
  return model.started;
}

/** What a person types, and the revision that it identifies. */
interface Meant {
  readonly text?: string;
  readonly revision: number | undefined;
  readonly isWrong: boolean;
}

function meantBy(model: TargetModel, where: Where, by: By, idOf: (revision: number) => string): Meant {
  if (where === 'the one before') return { revision: undefined, isWrong: false };
  if (where === 'what soaks') {
    const revision = underWay(model).revision ?? 0;
    return { text: idOf(revision), revision, isWrong: false };
  }
  const revisions = [...model.revisions.keys()].filter(
    (revision) => revision !== model.running?.revision && model.revisions.get(revision) !== 'hangs',
  );
  const revision = where === 'an unknown revision' ? undefined : revisions[where % revisions.length];
  if (revision === undefined) return { text: 'no-revision', revision, isWrong: true };
  const made = model.endings.find((ending) => ending.revision === revision)?.id;
  const { release = made } = model.known.find((one) => one.revision === revision) ?? {};
  const isSeen = made !== undefined || model.known.some((one) => one.revision === revision);
  if (by === 'the beginning of its id')
    return { text: idOf(revision).slice(0, 8), revision, isWrong: !isSeen };
  if (by === 'its id' || release === undefined) return { text: idOf(revision), revision, isWrong: false };
  const all = model.known.filter((one) => one.release === release);
  const best = all.findLast(({ verified }) => verified) ?? all.at(-1);
  return { text: release, revision: best?.revision ?? revision, isWrong: false };
}

/** The revision that a rollback leaves. One that names none has no effect right after a restore. */
function fromOf(model: TargetModel, leaving: Leaving): number | undefined {
  if (typeof leaving === 'number') {
    const revisions = [...model.revisions.keys()];
    return revisions[leaving % revisions.length];
  }
  const { active } = model;
  const isRestored = isSame(model.known, active, model.restored);
  return active !== null && (leaving === 'what serves' || isRestored) ? active : undefined;
}

interface Taken {
  readonly disposition: string;
  /** The revision that the answer says will serve. Absent: any. */
  readonly serves?: number | null;
}

export function takeRollback(model: TargetModel, asked: Rollback): Taken {
  const { running, rollbacks, active } = model;
  if (model.requestIds.includes(asked.id)) return { disposition: 'joined' };
  if (!model.taken) {
    model.ignored++;
    return { disposition: 'ignored' };
  }
  const hold = (): void => {
    if (asked.holds !== false) model.hold ??= { by: asked.id };
  };
  const answer = (disposition: string, serves: number | null = null): Taken => {
    model.requestIds.push(asked.id);
    return { disposition, serves };
  };
  /** A person who asks again holds the target, if nothing else does. */
  const join = (other: Rollback): Taken => {
    if (asked.holds !== false && (other.holds === false || model.hold === null)) {
      model.reject(always);
      model.hold ??= { by: other.id };
    }
    return answer('joined', other.to);
  };
  let rollback = asked;
  if (asked.to === undefined) {
    const waiting = rollbacks.at(-1);
    if (asked.from === undefined && waiting !== undefined) return join(waiting);
    const from = asked.from ?? active;
    if (from !== null) {
      const same = rollbacks.find((other) => isSame(model.known, other.from ?? null, from));
      if (asked.from !== undefined || same === undefined) running?.left.push(from);
      if (same !== undefined) return join(same);
      model.leave(from);
      if (active !== null && !isSame(model.known, active, from)) {
        model.reject(always);
        hold();
        return answer('done', active);
      }
      rollback = { ...asked, to: model.before(from), from };
    }
  }
  // One for which the target chose may end with another revision than the one that a person named.
  const mayMiss = ({ from }: Rollback): boolean => from !== undefined && rollback.from === undefined;
  const same = rollbacks.find(
    (other) => other.to !== undefined && other.to === rollback.to && !mayMiss(other),
  );
  if (same !== undefined) return join(same);
  model.met.add(running === null ? 'a rollback of an idle target' : 'a rollback preempts a release');
  if (model.canceled) model.met.add('a canceled target is rolled back');
  model.reject(always);
  model.rollbacks = [...rollbacks, rollback];
  hold();
  if (running === null) return answer('queued', rollback.to);
  if (running.soaks && rollback.to === running.revision) {
    model.met.add('a rollback to the revision that soaks ends its soak');
    const taken = answer('preempting', rollback.to);
    running.endSoak();
    return taken;
  }
  running.preemptedBy ??= rollback;
  const taken = answer('preempting', rollback.to);
  running.stop();
  return taken;
}

function whyNot(model: TargetModel, kind: Said): string | undefined {
  const running = underWay(model);
  if (running.stopped) return 'ending already';
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
      return running.checkLiesAhead ? undefined : 'ahead';
    case 'skip the soak':
      return running.soakLiesAhead ? undefined : 'ahead';
    case 'skip the freeze':
      return running.freezeLiesAhead ? undefined : 'ahead';
  }
}

function act(model: TargetModel, kind: Said): void {
  const running = underWay(model);
  switch (kind) {
    case 'abort':
    case 'reject':
      if (kind === 'reject') model.met.add('a release is rejected at its approval');
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
      model.met.add('a release is approved');
      if (model.servesCopy) model.met.add('a release is approved over a copy');
      running.open();
      break;
    case 'retry':
      running.retry();
      break;
    case 'skip':
      running.skip();
      break;
    case 'skip the soak':
      if (running.stage === 'soak') model.met.add('a person skips a soak');
      running.skipSoak();
      break;
    case 'skip the freeze':
      if (running.stage === 'freeze') model.met.add('a person ends a freeze');
      running.skipFreeze();
      break;
  }
}
