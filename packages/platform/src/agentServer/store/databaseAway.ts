import { setTimeout as delay } from 'node:timers/promises';

import { isDatabaseAway } from '../../store/databaseAway.ts';

export { isDatabaseAway } from '../../store/databaseAway.ts';

/** The pauses between retries, in milliseconds: from the first to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Does work on the database, and retries it while the database is away and `worthwhile` returns true. The work must
 * be safe to repeat, because a statement that was cut off may have had its effect.
 * @throws what the work throws: at once if a retry would not help.
 */
export async function throughOutage<T>(work: () => Promise<T>, worthwhile: () => boolean): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseAway(error) || !worthwhile()) throw error;
    }
    // Scattered, so that a thousand runs do not retry at the same instant.
    await delay(pause * (0.5 + Math.random()));
  }
}
