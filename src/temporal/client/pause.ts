import { setTimeout } from 'node:timers/promises';

/** Waits until the time is over or the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
