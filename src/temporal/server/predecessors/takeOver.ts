import { setTimeout as sleep } from 'node:timers/promises';

import type { TemporalConnection } from '../../client/connection.ts';
import { type AbandonedStep, failAbandonedSteps } from './abandonedSteps.ts';
import type { WorkerRegistry } from './workerRegistry.ts';

/** What is told of taking over. */
export type TakeOverEvent =
  | { readonly what: 'failed_step'; readonly step: AbandonedStep }
  /** What killed workers had begun could not be looked for: it waits for its deadlines. */
  | { readonly what: 'could_not_look'; readonly error: unknown };

/**
 * Looks at once and a little later: a release that was begun just before the kill is not in Temporal's lists at once
 * (Temporal Cloud takes a second or two), and a worker that was killed this moment may still be dying.
 */
const LOOK_AFTER_MS = [0, 3_000] as const;
const LOOK_MAX_MS = 20_000;

/**
 * Takes over from the workers of this machine that were killed: what they had begun is failed now, and so tried again,
 * instead of when its deadline passes. Never throws: without it everything goes on all the same, later.
 *
 * @param signal - ends it.
 */
export async function takeOver(
  temporal: TemporalConnection,
  registry: WorkerRegistry,
  options: { readonly signal: AbortSignal; readonly onEvent: (event: TakeOverEvent) => void },
): Promise<void> {
  const { signal, onEvent } = options;
  for (const [turn, pauseMs] of LOOK_AFTER_MS.entries()) {
    try {
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal });
      await look(temporal, registry, turn === LOOK_AFTER_MS.length - 1, onEvent);
    } catch (error) {
      if (signal.aborted) return;
      onEvent({ what: 'could_not_look', error });
    }
  }
}

/** @param last - whether what is found now need not be known any longer. */
async function look(
  temporal: TemporalConnection,
  registry: WorkerRegistry,
  last: boolean,
  onEvent: (event: TakeOverEvent) => void,
): Promise<void> {
  const killed = await registry.killed();
  if (killed.length === 0) return;
  const steps = await temporal.client.withDeadline(Date.now() + LOOK_MAX_MS, () =>
    failAbandonedSteps(temporal, killed),
  );
  for (const step of steps) onEvent({ what: 'failed_step', step });
  if (last) await Promise.all(killed.map((instance) => registry.forget(instance)));
}
