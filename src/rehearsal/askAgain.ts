import type { Client } from '@temporalio/client';

import { isOutOfTime } from '../temporal/client/temporalError.ts';

/** A worker in the same process answers in milliseconds. */
const PATIENCE_MS = 1_000;

/**
 * Asks a workflow something, again where no answer comes: the test server (1.38.0 was seen to) now and then forgets a query
 * that arrives while a workflow task is on its way.
 */
export async function askAgain<T>(client: Client, query: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await client.withDeadline(Date.now() + PATIENCE_MS, query);
    } catch (error) {
      if (!isOutOfTime(error)) throw error;
    }
  }
}
