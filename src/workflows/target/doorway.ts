import { CancellationScope, condition, type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow';

import { unholdUpdate } from '../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { refuse } from '../failure.ts';
import { perWorkflow } from '../perWorkflow.ts';

/**
 * Whether a target takes messages at this moment.
 *
 * `open`: it does. `reading`: they wait until it has read the state of its earlier runs. `reset`: Temporal sends a run
 * that was reset again what the earlier run has taken already, so messages are refused. `unreadable`: only `unhold` is
 * taken, by which a person starts afresh; signals wait.
 */
type Door = 'open' | 'reading' | 'reset' | 'unreadable';

/** What a target shares with the interceptor of its messages. */
interface Doorway {
  door: Door;
  /** Why the state of the earlier runs cannot be read, and what a person can do. */
  problem: string;
  /** How often this run was reset, or begun by a reset. */
  resets: number;
  isCanceled: boolean;
  /** By the update's name. */
  readonly validators: Map<string, (message: unknown) => void>;
}

export const doorway = perWorkflow<Doorway>('doorway', () => ({
  door: 'open',
  problem: '',
  resets: 0,
  isCanceled: false,
  validators: new Map(),
}));

/**
 * Has the doorway call an update's validator, which may ask the state, where the update arrives at a closed door: once the
 * door opens, and so in every replay, in which the SDK does not validate the update again.
 */
export function atTheDoor(
  { name }: { readonly name: string },
  validator: (message: unknown) => void,
): (message: unknown) => void {
  doorway().validators.set(name, validator);
  return validator;
}

/**
 * Runs a handler outside of the workflow's root scope. A cancellation of the target would cancel what a handler waits for,
 * and a signal's handler that ends so ends the target.
 */
const uncanceled = CancellationScope.nonCancellable.bind(CancellationScope);

/**
 * Holds messages back from a target that has not read the state of its earlier runs yet, and notices resets.
 *
 * A run that was reset is replayed as it went before, up to the point of the reset: the start of the run cannot tell.
 * The run gets a new random seed at exactly that point of its history. Only a run that was reset to its very beginning
 * gets none (`recoverTarget.ts`).
 *
 * The bundler looks for this name.
 */
export function interceptors(): WorkflowInterceptors {
  if (workflowInfo().workflowType !== WORKFLOW_TYPES.target) return {};
  return {
    inbound: [
      {
        handleSignal(input, next) {
          return uncanceled(async () => {
            if (doorway().door === 'open') return next(input);
            await condition(() => isTaken(input.signalName) || doorway().door === 'reset');
            if (doorway().door !== 'reset') return next(input);
          });
        },
        validateUpdate(input, next) {
          // A validator that asks the state cannot answer before the state is there.
          if (doorway().door === 'open') next(input);
        },
        handleUpdate(input, next) {
          return uncanceled(async () => {
            if (doorway().door === 'open') return next(input);
            if (doorway().door === 'reading') await condition(() => doorway().door !== 'reading');
            if (doorway().door === 'reset') refuse(RESET, 'SLIPWAY_WRONG_MOMENT');
            if (!isTaken(input.name)) refuse(doorway().problem, 'SLIPWAY_TARGET_UNREADABLE');
            doorway().validators.get(input.name)?.(input.args[0]);
            return next(input);
          });
        },
      },
    ],
    internals: [
      {
        activate(input, next) {
          for (const { updateRandomSeed, cancelWorkflow } of input.activation.jobs ?? []) {
            if (cancelWorkflow != null) doorway().isCanceled = true;
            if (updateRandomSeed == null) continue;
            doorway().resets++;
            doorway().door = 'reset';
          }
          next(input);
        },
      },
    ],
  };
}

const RESET = 'the target was reset a moment ago and reads its earlier state. Try again';

function isTaken(name: string): boolean {
  return doorway().door === 'open' || (doorway().door === 'unreadable' && name === unholdUpdate.name);
}
