import {
  CancellationScope,
  condition,
  type WorkflowInterceptors,
  workflowInfo,
  type WorkflowInternalsInterceptor,
} from '@temporalio/workflow';

import { unholdUpdate } from '../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { refuse } from '../failure.ts';
import { perWorkflow } from '../perWorkflow.ts';

/**
 * Whether a target accepts messages at this moment.
 *
 * `open`: it does. `reading`: messages wait until the target has read the state of its earlier runs. `reset`: messages are
 * refused, because together with a reset Temporal delivers again what the earlier run has already handled.
 * `unreadable`: only `unhold` is accepted, with which a person starts the target without its earlier state. Signals
 * wait.
 */
type GateState = 'open' | 'reading' | 'reset' | 'unreadable';

interface MessageGate {
  state: GateState;
  /** Why the state of the earlier runs cannot be read, and what a person can do. */
  problem: string;
  /** How many times this run was reset, including the reset that began it. */
  resets: number;
  isCanceled: boolean;
  readonly validators: Map<string, (message: unknown) => void>;
}

export const messageGate = perWorkflow<MessageGate>('messageGate', () => ({
  state: 'open',
  problem: '',
  resets: 0,
  isCanceled: false,
  validators: new Map(),
}));

/**
 * Registers an update's validator, so that the interceptor runs it once the gate is open if the update arrived earlier.
 * The validator may read the state. It also runs in each replay, in which the SDK does not validate the update again.
 */
export function whenOpen(
  { name }: { readonly name: string },
  validator: (message: unknown) => void,
): (message: unknown) => void {
  messageGate().validators.set(name, validator);
  return validator;
}

/** Runs a handler outside of the root scope: a cancellation of the target must not cancel what it waits for. */
const uncanceled = CancellationScope.nonCancellable.bind(CancellationScope);

/**
 * Delays a target's messages until it has read the state of its earlier runs, and detects the resets of any workflow.
 *
 * A reset run replays its history up to the reset point, so its start looks the same as before. At exactly that point
 * of the history, Temporal sends a new random seed. The SDK (1.24) handles that job before it calls any interceptor, so
 * only the seed tells.
 *
 * The workflow bundler looks for the export `interceptors`.
 */
export function interceptors(): WorkflowInterceptors {
  const internals = [{ activate: noticeResets() }];
  if (workflowInfo().workflowType !== WORKFLOW_TYPES.target) return { internals };
  return {
    internals,
    inbound: [
      {
        handleSignal(input, next) {
          return uncanceled(async () => {
            if (messageGate().state === 'open') return next(input);
            await condition(() => isTaken(input.signalName) || messageGate().state === 'reset');
            if (messageGate().state !== 'reset') return next(input);
          });
        },
        validateUpdate(input, next) {
          // A validator that reads the state cannot run before the state is recovered.
          if (messageGate().state === 'open') next(input);
        },
        handleUpdate(input, next) {
          return uncanceled(async () => {
            if (messageGate().state === 'open') return next(input);
            if (messageGate().state === 'reading') await condition(() => messageGate().state !== 'reading');
            if (messageGate().state === 'reset') refuse(RESET, 'SLIPWAY_TARGET_UNREADABLE');
            if (!isTaken(input.name)) refuse(messageGate().problem, 'SLIPWAY_TARGET_UNREADABLE');
            messageGate().validators.get(input.name)?.(input.args[0]);
            return next(input);
          });
        },
      },
    ],
  };
}

/** Notices the resets of any workflow, and the cancellation of a target. */
function noticeResets(): NonNullable<WorkflowInternalsInterceptor['activate']> {
  let seed = randomSeed();
  return (input, next) => {
    if (input.activation.jobs?.some(({ cancelWorkflow }) => cancelWorkflow != null))
      messageGate().isCanceled = true;
    if (randomSeed() !== seed) {
      seed = randomSeed();
      messageGate().resets++;
      messageGate().state = 'reset';
      // The earlier life has handled a cancellation.
      messageGate().isCanceled = false;
    } else if (messageGate().state === 'reset') {
      // What is delivered after the reset is new.
      messageGate().state = 'reading';
    }
    next(input);
  };
}

/** The seed of `Math.random`, which the SDK does not export. */
function randomSeed(): string {
  const { __TEMPORAL_ACTIVATOR__: activator } = globalThis as unknown as {
    readonly __TEMPORAL_ACTIVATOR__: { readonly randomnessSeed: readonly number[] };
  };
  return activator.randomnessSeed.join();
}

const RESET = 'the target was reset a moment ago and reads its earlier state. Try again';

function isTaken(name: string): boolean {
  return (
    messageGate().state === 'open' || (messageGate().state === 'unreadable' && name === unholdUpdate.name)
  );
}
