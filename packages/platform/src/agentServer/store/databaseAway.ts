import { setTimeout as delay } from 'node:timers/promises';

import { isDatabaseAway } from '../../store/databaseAway.ts';

export { isDatabaseAway } from '../../store/databaseAway.ts';

/** The pauses between tries, in milliseconds: from the first to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Does work on the database, and again while the database is away, for as long as `worthwhile` says. The work has to
 * bear being done twice: whether a statement that was cut off had its effect is not known.
 * @throws what the work throws: at once where trying again would not help.
 */
export async function throughOutage<T>(work: () => Promise<T>, worthwhile: () => boolean): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isDatabaseAway(error) || !worthwhile()) throw error;
    }
    // Scattered, so that a thousand runs do not come back in the same instant.
    await delay(pause * (0.5 + Math.random()));
  }
}
