import { setTimeout as sleep } from 'node:timers/promises';

/** Waits. False if the signal was aborted first. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  return sleep(milliseconds, true, { signal }).catch(() => false);
}
