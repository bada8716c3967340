import type { Preemption } from '../../domain/release/release.ts';
import type { Running, TargetState } from '../../domain/target/targetState.ts';

/** What the parts of a target (late watch, state keeper, recovery, rollback requests) read and change. */
export interface TargetCore {
  readonly state: TargetState;
  readonly running: Running | null;
  /** Replaces the state, and sends the notices for the changes. */
  change(next: TargetState): void;
  /** Replaces the state without notices. */
  replace(next: TargetState): void;
  ignore(message: string, reason: string): void;
  /** Asks the running release to make way. */
  preempt(preemption: Preemption): Promise<void>;
}

export type Taken<Answer> =
  /** `unused`: why it changed nothing. The sender of a signal finds the reason in the target's state. */
  { readonly answer: Answer; readonly unused?: string } | { readonly refused: string };
