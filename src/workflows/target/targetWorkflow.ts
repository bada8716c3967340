import type { TargetInput } from '../../messages/workflowTypes.ts';
import { outlive } from './recoverTarget.ts';
import { Target } from './target.ts';
import { handleTargetMessages } from './targetMessages.ts';

/** One target. It runs until it is terminated, and continues as new with its state between two releases. */
export function target(input: TargetInput = {}): Promise<void> {
  return outlive(input, async (current) => {
    const subject = new Target(current);
    handleTargetMessages(subject);
    await subject.run();
  });
}
