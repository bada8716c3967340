import { isDatabaseAway, throughOutage } from '../store/databaseAway.ts';
import type { LiveRun } from './liveRun.ts';

/** Waits for a database that is away as long as the lease holds; the run is lost with it. @throws what the work throws */
export async function patiently<T>(
  live: LiveRun,
  lease: { readonly holds: boolean },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await throughOutage(work, () => lease.holds);
  } catch (error) {
    if (isDatabaseAway(error)) live.stop('lost');
    throw error;
  }
}
