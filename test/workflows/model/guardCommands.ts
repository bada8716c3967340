import { type Command, command } from './commands.ts';
import { takeRollback } from './messageCommands.ts';
import type { Subject } from './subject.ts';
import type { Guard, TargetModel } from './targetModel.ts';

export type Measured = 'worse' | 'good' | 'nothing';
export type When = 'now' | 'five times' | 'at its end';

/** The guard measures. If its revision is worse, the target rolls back; if another one serves, the guard ends. */
export function measure(found: Measured, when: When): Command {
  return command(`the guard measures ${found} ${when}`, isGuarded, async (model, subject) => {
    const isLast = when === 'at its end';
    for (let round = 0; round < (when === 'five times' ? 5 : 1) && isGuarded(model); round++) {
      const { release } = guardOf(model);
      judge(model, subject, found, isLast);
      await subject.measure(release, found, isLast);
    }
  });
}

function judge(model: TargetModel, subject: Subject, found: Measured, isLast: boolean): void {
  const before = guardOf(model);
  const { active, running, met } = model;
  const { release, revision, how } = before;
  const isMissing = found === 'nothing';
  const missed = isMissing ? before.missed + 1 : 0;
  const guard = { ...before, missed, hadData: before.hadData || !isMissing };
  const isTooMuch = isMissing && (missed >= 5 || (isLast && !guard.hadData));
  if (active !== revision) {
    met.add('a guard finds another revision');
    model.guard = { ...guard, ended: 'replaced' };
  } else if (found === 'worse' || (isTooMuch && how.noData === 'rollback')) {
    const waits = running?.stage === 'freeze' ? 'is frozen' : 'waits';
    met.add(
      running === null ? 'a guard rolls back an idle target' : `a guard rolls back while a release ${waits}`,
    );
    if (isMissing) met.add(`a guard without data ${isLast ? 'at its end ' : ''}rolls back`);
    if (!how.holds) met.add('a guard rolls back without a hold');
    model.guard = { ...guard, ended: 'worse' };
    const holds = how.holds ? undefined : false;
    takeRollback(model, { id: subject.guardRequestId(release), to: undefined, from: revision, holds });
  } else {
    if (isTooMuch) met.add('a guard without data goes on');
    if (isLast) met.add(running === null ? 'a guard passes' : 'a guard passes while a release waits');
    model.guard = isLast ? { ...guard, ended: 'passed' } : guard;
  }
}

/** A person ends the guard with Temporal's own tools. The target learns of a termination only when it preempts the guard. */
export function endGuard(how: 'cancel' | 'terminate'): Command {
  return command(`${how} guard`, isGuarded, async (model, subject) => {
    const guard = guardOf(model);
    model.met.add(`a person ${how}s a guard`);
    model.guard = how === 'cancel' ? { ...guard, ended: 'canceled' } : { ...guard, isTerminated: true };
    await subject.endGuard(guard.release, how);
  });
}

function isGuarded({ guard }: TargetModel): boolean {
  return guard !== null && guard.ended === undefined && guard.isTerminated !== true;
}

function guardOf({ guard }: TargetModel): Guard {
  if (guard === null) throw new Error('nothing is guarded');
  return guard;
}
