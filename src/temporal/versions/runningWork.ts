import protos from '@temporalio/proto';

import { WORKFLOW_TYPES, type WorkflowName } from '../../messages/workflowTypes.ts';
import { callTemporal, describeWorkflow, type TemporalConnection } from '../client/connection.ts';
import { eachRunning } from '../client/listRunning.ts';
import { pinnedVersion } from '../client/workerPresence.ts';
import { measureSinks, UninterruptedWorker } from '../createWorkers.ts';
import { fetchHistory } from '../history/fetchHistories.ts';

export interface PinnedWork {
  readonly workflowId: string;
  readonly runId: string;
  readonly buildId: string;
  /** Whether a person pinned it: its type moves to the current version by itself. */
  readonly byHand: boolean;
}

const { PINNED_OVERRIDE_BEHAVIOR_PINNED: PINNED_OVERRIDE } =
  protos.temporal.api.workflow.v1.VersioningOverride.PinnedOverrideBehavior;

const PINNED: readonly WorkflowName[] = [WORKFLOW_TYPES.release, WORKFLOW_TYPES.rollback];

/** The running workflows that are pinned to a version: releases and rollbacks, and what a person pinned. */
export async function runningPinned(temporal: TemporalConnection): Promise<readonly PinnedWork[]> {
  const found: PinnedWork[] = [];
  for (const { workflowId, runId } of await running(temporal, Object.values(WORKFLOW_TYPES))) {
    const described = await describeWorkflow(temporal, workflowId, runId);
    // It has just ended.
    if (described === undefined) continue;
    const buildId = pinnedVersion(described);
    const byHand = PINNED.every((type) => type !== described.type);
    if (buildId !== undefined) found.push({ workflowId, runId, buildId, byHand });
  }
  return found;
}

/**
 * The running workflows that move to the current version with their next task: targets, promotions and their
 * supporting workflows.
 */
export function runningUnpinned(temporal: TemporalConnection): Promise<readonly Execution[]> {
  return running(
    temporal,
    Object.values(WORKFLOW_TYPES).filter((type) => !PINNED.includes(type)),
  );
}

interface Execution {
  readonly workflowId: string;
  readonly runId: string;
}

function running(
  temporal: TemporalConnection,
  types: readonly WorkflowName[],
): Promise<readonly Execution[]> {
  return callTemporal(temporal, async () => {
    const found: Execution[] = [];
    for await (const { workflowId, runId } of eachRunning(temporal, types, temporal.settings.taskQueue))
      found.push({ workflowId, runId });
    return found;
  });
}

/**
 * Pins a release or a rollback to another version, from its next task on; what a person pinned moves to the current one.
 * Its history must replay on that version.
 */
export async function moveTo(
  temporal: TemporalConnection,
  { workflowId, runId, byHand }: PinnedWork,
  version: { readonly deploymentName: string; readonly buildId: string },
): Promise<void> {
  const { connection, client, settings } = temporal;
  const versioningOverride = byHand ? undefined : { pinned: { behavior: PINNED_OVERRIDE, version } };
  await callTemporal(temporal, () =>
    connection.workflowService.updateWorkflowExecutionOptions({
      namespace: settings.namespace,
      workflowExecution: { workflowId, runId },
      workflowExecutionOptions: { versioningOverride },
      updateMask: { paths: ['versioning_override'] },
      identity: client.options.identity,
    }),
  );
}

interface ReplayFailure {
  readonly workflowId: string;
  readonly reason: string;
}

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
    const history = await fetchHistory(temporal, workflowId, runId);
    // The SDK would wait for ever for a history without a completed workflow task.
    const hasDecided = history?.events?.some((event) => event.workflowTaskCompletedEventAttributes != null);
    if (history !== undefined && hasDecided === true) yield { workflowId, history };
  }
}
