import { expect } from 'vitest';

import { type Command, command } from './commands.ts';
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
    if (running?.stopped === false) {
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
