import { allHandlersFinished, CancellationScope, condition, workflowInfo } from '@temporalio/workflow';

import { EMPTY_TARGET, type NextWork, type TargetState } from '../../domain/target/targetState.ts';
import type { TargetInput } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { throughServer } from '../localFirst.ts';
import { doorway } from './doorway.ts';
import type { TargetCore } from './targetCore.ts';

/**
 * Keeps a target going whatever Temporal's own tools do to it. A cancellation changes nothing: a target has no end of
 * its own, and its hold would be lost. A reset begins its life again, with the state that the earlier run had.
 *
 * @param live - one life: from the carried state, or the one that {@link recoverTarget} finds.
 */
export async function outlive(
  input: TargetInput,
  live: (input: TargetInput) => Promise<void>,
): Promise<never> {
  const { state: _, ...afresh } = input;
  return CancellationScope.nonCancellable(async () => {
    for (let current = doorway().door === 'reset' ? afresh : input; ; current = afresh) {
      const { resets } = doorway();
      if (doorway().door === 'open' && !('state' in current)) doorway().door = 'reading';
      const life = new CancellationScope();
      await Promise.race([life.run(() => live(current)), condition(() => doorway().resets > resets)]);
      life.cancel();
    }
  });
}

/** Calls back once a person cancels the target with Temporal's own tools. */
export async function whenCanceled(then: () => void): Promise<void> {
  await CancellationScope.nonCancellable(() => condition(() => doorway().isCanceled));
  then();
}

/** Three attempts. Waiting for a worker is not counted: that nothing has read the state is no word on the state. */
const QUICKLY = {
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '200 milliseconds', maximumAttempts: 3 },
} as const;
/** Until the state can be read again, also from a store that takes long to answer: attempts add nothing to the history. */
const PATIENTLY = {
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '5 seconds', maximumInterval: '1 minute' },
} as const;

/**
 * Puts a target without carried state in possession of what its earlier runs knew, before it takes any message. Where
 * that cannot be read, the target is on hold, and is read again until it can, or until a person releases the hold: then
 * the target starts afresh, without what it knew.
 *
 * @returns what an earlier run left running.
 */
export async function recoverTarget(
  target: TargetCore,
  recordStore: string | undefined,
): Promise<NextWork | undefined> {
  if (doorway().door === 'open') return undefined;
  const recall = async (options: typeof QUICKLY | typeof PATIENTLY, afresh: boolean): Promise<Recalled> => {
    const recallTarget = throughServer('recallTarget', { ...options, summary: 'read the earlier state' });
    // What is known now is not the same in every replay: only the activity's input is.
    const { runId, originalExecutionRunId } = workflowInfo();
    const isReset = runId !== originalExecutionRunId;
    return recallTarget({ recordStore: recordStore ?? null, afresh, isReset });
  };
  const { state, work, isReset } = await recallOrWait(target, recall);
  // The earlier runs have notified the receivers.
  if (state !== null) target.replace(state);
  if (isReset) {
    doorway().door = 'reset';
    await condition(allHandlersFinished);
  }
  doorway().door = 'open';
  return work ?? undefined;
}

interface Recalled {
  /** `null`: there was no earlier run. */
  readonly state: TargetState | null;
  readonly work: NextWork | null;
  readonly isReset: boolean;
}

async function recallOrWait(
  target: TargetCore,
  recall: (options: typeof QUICKLY | typeof PATIENTLY, afresh: boolean) => Promise<Recalled>,
): Promise<Recalled> {
  try {
    return await recall(QUICKLY, false);
  } catch (error) {
    const failure = explain(error);
    if (failure.canceled) throw error;
    const reason = `its earlier state cannot be read: ${failure.message}`;
    target.change({
      ...target.state,
      hold: { since: now(), by: { who: 'slipway', from: 'recovery', reason } },
    });
    doorway().problem =
      `the target takes no message because ${reason}. It tries again by itself. ` +
      'To start without its earlier hold, quarantine and verified revisions: slipway unhold';
    doorway().door = 'unreadable';
  }
  const startsAfresh = condition(() => target.state.hold === null).then(() => undefined);
  const reading = new CancellationScope();
  const read = reading.run(() => recall(PATIENTLY, false)).catch(() => startsAfresh);
  const found = await Promise.race([read, startsAfresh]);
  if (found !== undefined) return { ...found, state: found.state ?? EMPTY_TARGET };
  reading.cancel();
  doorway().door = 'reading';
  const recalled = await recall(PATIENTLY, true);
  // Who released the hold, and why, is part of what the target knows.
  return { ...recalled, state: { ...EMPTY_TARGET, ...recalled.state, said: target.state.said } };
}
