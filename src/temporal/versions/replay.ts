import { type TemporalConnection, callTemporal } from '../client/connection.ts';
import { measureSinks, UninterruptedWorker } from '../createWorkers.ts';
import { fetchHistory } from '../history/fetchHistories.ts';
import type { Execution } from './runningWork.ts';

export interface ReplayFailure {
  readonly workflowId: string;
  readonly reason: string;
}

/** `temporal.api.enums.v1.EventType` */
const WORKFLOW_TASK_COMPLETED = 7;

/**
 * Replays running workflows with the workflow code of a bundle, one after the other. A workflow that has ended
 * meanwhile or has no completed task passes.
 */
export async function replayFailures(
  temporal: TemporalConnection,
  executions: readonly Execution[],
  bundlePath: string,
): Promise<readonly ReplayFailure[]> {
  const failures: ReplayFailure[] = [];
  const results = UninterruptedWorker.runReplayHistories(
    { workflowBundle: { codePath: bundlePath }, sinks: measureSinks() },
    histories(temporal, executions),
  );
  for await (const { workflowId, error } of results) {
    if (error !== undefined) failures.push({ workflowId, reason: error.message });
  }
  return failures;
}

/** Fetched one by one, so that thousands need no more memory than one. */
async function* histories(temporal: TemporalConnection, executions: readonly Execution[]) {
  for (const { workflowId, runId } of executions) {
    const history = await callTemporal(temporal, () => fetchHistory(temporal, workflowId, runId));
    // The SDK would wait for ever for a history without a completed workflow task.
    const hasDecided = history?.events?.some(
      ({ eventType }) => Number(eventType) === WORKFLOW_TASK_COMPLETED,
    );
    if (history !== undefined && hasDecided === true) yield { workflowId, history };
  }
}
