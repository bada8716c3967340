import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long the last output is waited for, in ms. */
const LAST_OUTPUT_MS = 1_000;

/**
 * Waits for what an ended process still has in its pipes; not for ever, because a process that left its group may hold
 * them.
 */
export async function lastOutput(outputs: readonly (Readable | null)[]): Promise<void> {
  const closed = outputs.flatMap((output) =>
    output === null || output.closed ? [] : [new Promise((resolve) => output.once('close', resolve))],
  );
  await Promise.race([Promise.all(closed), sleep(LAST_OUTPUT_MS, undefined, { ref: false })]);
}
