import type { Preemption } from '../../domain/release/release.ts';
import type { Running, TargetState } from '../../domain/target/targetState.ts';

/** What the parts of a target read and change: they watch late revisions, keep its state, recover it, take rollbacks. */
export interface TargetCore {
  readonly state: TargetState;
  readonly running: Running | null;
  /** Replaces the state, and notifies the receivers of what changed. */
  change(next: TargetState): void;
  /** Replaces the state without any notice. */
  replace(next: TargetState): void;
  /** Records a message that is not acted upon, and why. */
  ignore(message: string, reason: string): void;
  /** Asks the running release to make way. */
  preempt(preemption: Preemption): Promise<void>;
}

/** What came of a message. */
export type Taken<Answer> =
  /** `unused`: why it changed nothing. A sender who does not wait for the answer finds that in the target's state. */
  { readonly answer: Answer; readonly unused?: string } | { readonly refused: string };
