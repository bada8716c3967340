import { ActivityCancellationType, type ActivityOptions, CancellationScope } from '@temporalio/workflow';

import type { Actor } from '../../domain/actor.ts';
import type { Statement } from '../../domain/identity/statement.ts';
import { explain } from '../failure.ts';
import { throughServer } from '../localFirst.ts';

/** What is to be proved, and by what. */
export interface Asked {
  readonly statement: Statement;
  /** The record with the proof. Absent: there is none. */
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
 * Proves who asked for something.
 *
 * @param store - the artifact store that has the proof.
 * @returns the actor with what was proved, or why nothing was.
 * @throws what cancels it.
 */
export async function proveIdentity(
  store: string,
  by: Actor,
  { statement, identity: name, at }: Asked,
): Promise<(Required<Pick<Actor, 'proved'>> & Actor) | string> {
  if (name === undefined) {
    return `${by.who} did not prove who they are: sign in with "slipway login", then ask again`;
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
 * Proves who asked for something while it is done: nothing waits for it. If nothing is proved, the name stays claimed.
 *
 * @param onProved - called with the actor and what was proved.
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
