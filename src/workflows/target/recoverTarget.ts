import { CancellationScope, condition } from '@temporalio/workflow';

import type { RollbackRequest } from '../../domain/release/release.ts';
import { EMPTY_TARGET, type NextWork, type TargetState } from '../../domain/target/targetState.ts';
import type { TargetInput } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { localFirst } from '../localFirst.ts';
import { messageGate } from './messageGate.ts';
import type { TargetCore } from './targetCore.ts';

/**
 * Keeps a target running despite Temporal's own tools. A cancellation changes nothing, because a target never ends,
 * and ending it would lose its hold. A reset starts a new life, with the state that the earlier run had.
 * @param live - runs one life, from the carried state or from the state that {@link recoverTarget} reads.
 */
export async function outlive(
  input: TargetInput,
  live: (input: TargetInput) => Promise<void>,
): Promise<never> {
  const { state: _, ...afresh } = input;
  return CancellationScope.nonCancellable(async () => {
    for (let current = messageGate().state === 'reset' ? afresh : input; ; current = afresh) {
      const { resets } = messageGate();
      if (messageGate().state === 'open' && !('state' in current)) messageGate().state = 'reading';
      const life = new CancellationScope();
      await Promise.race([life.run(() => live(current)), condition(() => messageGate().resets > resets)]);
      life.cancel();
    }
  });
}

/** Calls back when a person cancels the target with Temporal's own tools. */
export async function whenCanceled(then: () => void): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(() => messageGate().isCanceled));
  then();
}

/** Three attempts. Time without a worker does not count, because it says nothing about the state. */
const QUICKLY = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumAttempts: 3 },
} as const;
/** Retries until the state can be read, even from a slow store. Attempts add no events to the history. */
const PATIENTLY = {
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '5 seconds', maximumInterval: '1 minute' },
} as const;

/**
 * Restores the state of a target's earlier runs before the target accepts any message. If that state cannot be read,
 * the target is on hold and retries. A person who releases the hold starts it without the earlier state.
 * @returns the work that an earlier run left running, and the rollbacks that it left unanswered.
 */
export async function recoverTarget(
  target: TargetCore,
  recordStore: string | undefined,
): Promise<Pick<Recalled, 'work' | 'signaled'>> {
  if (messageGate().state === 'open') return { work: null };
  const recall = async (options: typeof QUICKLY | typeof PATIENTLY, afresh: boolean): Promise<Recalled> => {
    const recallTarget = localFirst('recallTarget', { ...options, summary: 'read the earlier state' });
    return recallTarget({ recordStore: recordStore ?? null, afresh });
  };
  const { state, work, signaled } = await recallOrWait(target, recall);
  // No notices: the earlier runs have already sent them.
  if (state !== null) target.replace(state);
  messageGate().state = 'open';
  return { work, signaled };
}

interface Recalled {
  /** `null` if there was no earlier run. */
  readonly state: TargetState | null;
  readonly work: NextWork | null;
  readonly signaled?: readonly RollbackRequest[] | undefined;
}

async function recallOrWait(
  target: TargetCore,
  recall: (options: typeof QUICKLY | typeof PATIENTLY, afresh: boolean) => Promise<Recalled>,
): Promise<Recalled> {
  try {
    // A reset only leaves this try: core fails a task in which the cancellation of a local activity meets its result
    // ("Invalid transition in state machine").
    const read = CancellationScope.nonCancellable(() => recall(QUICKLY, false));
    return await Promise.race([read, CancellationScope.current().cancelRequested]);
  } catch (error) {
    const failure = explain(error);
    if (failure.canceled) throw error;
    const reason = `its earlier state cannot be read: ${failure.message}`;
    target.change({
      ...target.state,
      hold: { since: now(), by: { who: 'slipway', from: 'recovery', reason } },
    });
    messageGate().problem =
      `the target takes no message because ${reason}. It tries again by itself. ` +
      'To start without its earlier hold, quarantine and verified revisions: slipway unhold';
    messageGate().state = 'unreadable';
  }
  const startsAfresh = condition(() => target.state.hold === null).then(() => undefined);
  const reading = new CancellationScope();
  const patiently = reading.run(() => recall(PATIENTLY, false)).catch(() => startsAfresh);
  const found = await Promise.race([patiently, startsAfresh]);
  if (found !== undefined) return { ...found, state: found.state ?? EMPTY_TARGET };
  reading.cancel();
  messageGate().state = 'reading';
  const recalled = await recall(PATIENTLY, true);
  // Keep who released the hold, and why.
  return { ...recalled, state: { ...EMPTY_TARGET, ...recalled.state, said: target.state.said } };
}
