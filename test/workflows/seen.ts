import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 80;

/**
 * What a look at a workflow shows at last, at something that only a query can tell.
 *
 * A query is answered from the history, and costs a worker a turn; without a cache, all turns there have been. So it is
 * asked only where there is more history than at the last look, with nothing in it that is not dealt with yet. That may
 * also be so by the time of the answer, which then tells what has not been decided: it does not count.
 *
 * @param look - asks the workflow; `undefined` where it does not show what is waited for.
 */
export async function seen<T>(handle: WorkflowHandle, look: () => Promise<T | undefined>): Promise<T> {
  let looked = '';
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    const settled = await settledAt(handle);
    if (settled !== undefined && settled !== looked) {
      const found = await look();
      if (found !== undefined && (await settledAt(handle)) !== undefined) return found;
      if (found === undefined) looked = settled;
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Where a workflow's history ends; `undefined` while it has not begun, or has something to deal with. */
async function settledAt(handle: WorkflowHandle): Promise<string | undefined> {
  try {
    const { runId, historyLength, raw } = await handle.describe();
    return raw.pendingWorkflowTask == null ? `${runId} ${historyLength}` : undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
