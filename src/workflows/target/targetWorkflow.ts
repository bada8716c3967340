import type { TargetInput } from '../../messages/workflowTypes.ts';
import { outlive } from './recoverTarget.ts';
import { Target } from './target.ts';
import { handleTargetMessages } from './targetMessages.ts';

/** One target, until it is terminated: a run of it ends between two releases, and the next run carries its state. */
export function target(input: TargetInput = {}): Promise<void> {
  return outlive(input, async (current) => {
    const subject = new Target(current);
    handleTargetMessages(subject);
    await subject.run();
  });
}
