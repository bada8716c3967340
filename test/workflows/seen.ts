import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 80;

/**
 * Waits until a query of a workflow returns a result.
 *
 * A query is answered from the history, and costs a worker a turn: without a cache, a replay of all turns. So this
 * queries only if the history has grown since the last query, and has no pending workflow task. If a task is pending
 * after the answer, the answer may be outdated and does not count.
 * @param look - queries the workflow; `undefined` until it shows the awaited state.
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

/** The end of a workflow's history; `undefined` if the workflow has not begun, or has a pending workflow task. */
async function settledAt(handle: WorkflowHandle): Promise<string | undefined> {
  try {
    const { runId, historyLength, raw, status } = await handle.describe();
    // The server keeps showing the task that was pending when a workflow was terminated.
    const isPending = status.name === 'RUNNING' && raw.pendingWorkflowTask != null;
    return isPending ? undefined : `${runId} ${historyLength}`;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
