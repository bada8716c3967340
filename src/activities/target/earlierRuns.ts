import type { Client, WorkflowHandle } from '@temporalio/client';
import { decodeFromPayloadsAtIndex } from '@temporalio/common/lib/internal-non-workflow/index.js';

import { quarantinedIds } from '../../domain/deployment/revision.ts';
import type { NextWork } from '../../domain/target/targetState.ts';
import type { ReleaseInput, RollbackInput } from '../../messages/workflowTypes.ts';
import { ifThere } from '../askTemporal.ts';

export interface TargetRun {
  readonly runId: string;
  readonly startedAt: Date;
}

/** More runs than a person ends by hand in a row. */
const RUNS_MAX = 50;

/**
 * The runs of a target before the current one, newest first, as Temporal lists them.
 * @returns isBehind: the list does not show the current run yet. It shows a workflow's runs in the order in which they
 * began, so the one before may be missing, too.
 */
export async function earlierRuns(
  client: Client,
  workflowId: string,
  current: string,
): Promise<{ readonly runs: readonly TargetRun[]; readonly isBehind: boolean }> {
  const all: TargetRun[] = [];
  const query = `WorkflowId = ${JSON.stringify(workflowId)}`;
  for await (const { runId, startTime } of client.workflow.list({ query, pageSize: RUNS_MAX })) {
    all.push({ runId, startedAt: startTime });
    if (all.length === RUNS_MAX) break;
  }
  const runs = all.filter(({ runId }) => runId !== current);
  runs.sort((one, other) => other.startedAt.getTime() - one.startedAt.getTime());
  return { runs, isBehind: runs.length === all.length };
}

/** A release or a rollback of a target, as Temporal lists it. */
export interface ListedWork {
  readonly workflowId: string;
  readonly number: number;
  readonly isRunning: boolean;
}

/** The newest releases and rollbacks of a target that Temporal still has. */
export async function listWork(client: Client, targetId: string): Promise<ListedWork[]> {
  const works: ListedWork[] = [];
  const query = `WorkflowId STARTS_WITH ${JSON.stringify(`${targetId}/`)}`;
  for await (const { workflowId, status } of client.workflow.list({ query, pageSize: RUNS_MAX })) {
    const number = Number(/-(\d+)$/.exec(workflowId)?.[1] ?? 0);
    works.push({ workflowId, number, isRunning: status.name === 'RUNNING' });
    if (works.length === RUNS_MAX) break;
  }
  return works;
}

/** The release or rollback that runs on a target; `undefined` if there is none. */
export async function runningWork(client: Client, targetId: string): Promise<NextWork | undefined> {
  for (const { workflowId, isRunning } of await listWork(client, targetId)) {
    if (!isRunning) continue;
    const work = await readWork(client.workflow.getHandle(workflowId));
    if (work?.isRunning === true) return work.work;
  }
  return undefined;
}

/** A release or a rollback, read from its start event; `undefined` if Temporal has none with that id. */
export async function readWork(
  handle: WorkflowHandle,
): Promise<{ readonly work: NextWork; readonly isRunning: boolean } | undefined> {
  const described = await ifThere(handle.describe());
  if (described === undefined) return undefined;
  const { status, type } = described;
  const { releaseId, request, known } = (await startInput(handle)) as ReleaseInput | RollbackInput;
  const kind = type === 'rollback' ? 'rollback' : 'release';
  const work = { kind, releaseId, request, quarantined: quarantinedIds(known) } as NextWork;
  return { work, isRunning: status.name === 'RUNNING' };
}

/** Whether no worker has ever completed a workflow task of a run. Then it had no state, and cannot be queried. */
export async function neverBegan(run: WorkflowHandle): Promise<boolean> {
  const { events } = await run.fetchHistory();
  return events?.every((event) => event.workflowTaskCompletedEventAttributes == null) === true;
}

export async function startInput(handle: WorkflowHandle): Promise<unknown> {
  const { events } = await handle.fetchHistory();
  const payloads = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads;
  return decodeFromPayloadsAtIndex(handle.client.options.loadedDataConverter, 0, payloads);
}
