import { expect } from 'vitest';

import { type Command, command, underWay } from './commands.ts';
import type { Plan } from './plan.ts';
import type { TargetModel } from './targetModel.ts';

/** A person terminates the target with Temporal's own tools. The next command starts it again. */
export function terminateTarget(): Command {
  return command('terminate target', started, async (model, subject) => {
    const { running, met } = model;
    met.add(`the target is terminated while ${running === null ? 'it is idle' : 'a release runs'}`);
    if (model.queue.length > 0) met.add('the target is terminated while releases wait');
    if (model.hold !== null) met.add('the target is terminated on hold');
    if (model.quarantined.size > 0) met.add('the target is terminated with a quarantine');
    if (model.servesCopy) met.add('the target is terminated while a copy serves');
    // The next run can be canceled again.
    model.canceled = false;
    if (running?.stopped === false && running.isChild) {
      running.aborted = true;
      running.stop();
    }
    await subject.terminateTarget();
  });
}

/** A person cancels the target with Temporal's own tools. Temporal takes only the first cancellation of a run. */
export function cancelTarget(): Command {
  const possible = (model: TargetModel): boolean => model.started && !model.canceled;
  return command('cancel target', possible, async (model, subject) => {
    const { running, met } = model;
    met.add(`the target is canceled while ${running === null ? 'it is idle' : 'a release runs'}`);
    model.canceled = true;
    model.ignored++;
    await subject.target.handle.cancel();
  });
}

/** A person resets the target with Temporal's own tools. It continues with the state that it had. */
export function resetTarget(to: 'first' | 'middle' | 'last'): Command {
  return command(`reset target to its ${to} task`, started, async (model, subject) => {
    model.met.add(`the target is reset while ${model.running === null ? 'it is idle' : 'a release runs'}`);
    model.repeatable = [];
    if (model.running !== null) model.running.isChild = false;
    await subject.target.reset(to);
  });
}

/** A person cancels the running release with Temporal's own tools: it stops and restores, as by an abort. */
export function cancelRelease(): Command {
  return command(
    'cancel release',
    ({ running }) => running !== null,
    async (model, subject) => {
      const running = underWay(model);
      model.met.add('a release is canceled in Temporal');
      await subject.target.child(running.id).cancel();
      if (running.stopped) return;
      running.aborted = true;
      running.stop();
    },
  );
}

/** A person terminates the running release by hand. What it changed stays, unknown to the target. */
export function terminateRelease(): Command {
  const possible = ({ running }: TargetModel): boolean =>
    running !== null && !['upload', 'patch'].includes(running.stage);
  return command('terminate release', possible, async (model, subject) => {
    const running = underWay(model);
    model.met.add('a release is terminated in Temporal');
    await subject.target.child(running.id).terminate('by hand');
    running.vanish();
  });
}

/** A person terminates or cancels the lock of the deployment with Temporal's own tools. Its owner keeps it. */
export function touchLock(how: 'terminate' | 'cancel'): Command {
  const possible = ({ deployed, ran }: TargetModel): boolean => deployed && ran > 0;
  return command(`${how} lock`, possible, (_, subject) => subject.touchLock(how));
}

/** Another target reaches the same deployment under another address. It is refused, and changes nothing. */
export function releaseUnderOtherSpelling(plan: Plan): Command {
  const possible = ({ deployed, running, ran }: TargetModel): boolean =>
    deployed && (running !== null || ran > 0);
  return command(`release ${plan.artifact} under another spelling`, possible, async (model, subject) => {
    model.ran++;
    const moment = model.running === null ? 'nothing' : 'a release';
    model.met.add(`another spelling is refused while ${moment} runs`);
    const { outcome, code } = await subject.releaseUnderOtherSpelling(plan);
    expect({ outcome, code }).toEqual({ outcome: 'failed', code: 'SLIPWAY_DEPLOYMENT_OWNED' });
  });
}

function started(model: TargetModel): boolean {
  return model.started;
}
