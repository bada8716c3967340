import { ActivityCancellationType, type ActivityOptions, CancellationScope } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { Statement } from '../../domain/identity/statement.ts';
import { explain } from '../failure.ts';
import { throughServer } from '../localFirst.ts';

/** A statement to prove, and its proof. */
export interface Asked {
  readonly statement: Statement;
  /** The record with the proof; absent if there is none. */
  readonly identity?: string;
  /** When it arrived: ISO 8601. */
  readonly at: string;
}

const OPTIONS: ActivityOptions = {
  summary: 'verify who asks',
  startToCloseTimeout: 30_000,
  scheduleToCloseTimeout: 120_000,
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: { initialInterval: 500, maximumInterval: 15_000 },
};

/**
 * Verifies who asked for something.
 * @param store - the artifact store that has the proof.
 * @returns the actor with the proved identity, or why it is not proved.
 * @throws CancelledFailure if it is canceled.
 */
export async function proveIdentity(
  store: string,
  by: Actor,
  { statement, identity: name, at }: Asked,
): Promise<(Required<Pick<Actor, 'proved'>> & Actor) | string> {
  if (name === undefined) {
    return `${by.who} did not prove their identity: sign in with "slipway login", then try again`;
  }
  try {
    const { identity } = await throughServer('proveIdentity', OPTIONS)({ store, name, statement, at });
    return { ...by, ...identity };
  } catch (error) {
    const { canceled, message } = explain(error);
    if (canceled) throw error;
    return message;
  }
}

/**
 * Verifies who asked for something that is already being done. Nothing waits for it. If the proof fails, the name
 * stays claimed.
 * @param onProved - called with the actor and the proved identity.
 */
export async function proveMeanwhile(
  store: string,
  by: Actor,
  asked: Asked,
  onProved: (proved: Actor) => void,
): Promise<void> {
  try {
    const proved = await CancellationScope.nonCancellable(() => proveIdentity(store, by, asked));
    if (typeof proved !== 'string') onProved(proved);
  } catch {
    // Canceled with the workflow.
  }
}
