import { setTimeout as delay } from 'node:timers/promises';

import { isDatabaseUnavailable } from '../../store/databaseUnavailable.ts';

export { isDatabaseUnavailable } from '../../store/databaseUnavailable.ts';

/** The pauses between retries, in milliseconds: from the first to the longest. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/**
 * Does work on the database, and retries it while the database is away and `shouldRetry` returns true. The work must
 * be safe to repeat, because a statement that was cut off may have had its effect.
 * @throws what the work throws: at once if a retry would not help.
 */
export async function retryDuringOutage<T>(
  operation: () => Promise<T>,
  shouldRetry: () => boolean,
): Promise<T> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await operation();
    } catch (error) {
      if (!isDatabaseUnavailable(error) || !shouldRetry()) throw error;
    }
    // Scattered, so that a thousand runs do not retry at the same instant.
    await delay(pause * (0.5 + Math.random()));
  }
}
