import { PAYLOAD_KEYS } from '../../config/payloadKeys.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { targetAgain } from '../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { missingKeyIn, NO_KEYS } from '../codec/payloadCipher.ts';
import { decodeEvents } from '../history/payloads.ts';
import { readFailedTasks } from '../history/readFacts.ts';
import type { TemporalConnection } from './connection.ts';
import { eachRunning } from './listRunning.ts';
import { isGone, isTemporalSilent, orNone } from './temporalError.ts';

/** A workflow whose workflow task keeps failing, so that no worker can continue it. */
interface StuckTask {
  readonly workflowId: string;
  readonly runId: string;
  readonly isTarget: boolean;
  readonly attempts: number;
  /** The worker's message of the first failure. */
  readonly cause: string;
  /** The payload key that the worker lacks. With it, workers continue the workflow, and nothing is lost. */
  readonly lackedKey?: { readonly id: string; readonly isHere: boolean };
}

/** A worker reports only the first failure in a row. Later attempts time out, after 3 s each. */
const STUCK_FROM_ATTEMPT = 3;
const NEWEST_EVENTS = 20;
const MAX_CAUSE_CHARACTERS = 300;

/** The task in which a workflow is stuck; `undefined` if it is not stuck, not running or unknown. */
export async function findStuckTask(
  { client, connection, settings }: TemporalConnection,
  workflowId: string,
): Promise<StuckTask | undefined> {
  try {
    const { raw, runId, type, status } = await client.workflow.getHandle(workflowId).describe();
    const attempts = raw.pendingWorkflowTask?.attempt ?? 0;
    // The server keeps showing the task that was pending when a workflow was terminated.
    if (status.name !== 'RUNNING' || attempts < STUCK_FROM_ATTEMPT) return undefined;
    const { history } = await connection.workflowService.getWorkflowExecutionHistoryReverse({
      namespace: settings.namespace,
      execution: { workflowId, runId },
      maximumPageSize: NEWEST_EVENTS,
    });
    const events = (history?.events ?? []).toReversed();
    // Other events may contain the payload that workers cannot read.
    const failures = events.filter((event) => event.workflowTaskFailedEventAttributes != null);
    const { codec = NO_KEYS } = settings;
    await decodeEvents(codec, failures);
    // A task that only times out is not stuck: workers do not finish it, but do not fail it either.
    const cause = readFailedTasks(events).find(({ isLast }) => isLast)?.message;
    if (cause === undefined) return undefined;
    const isTarget = type === WORKFLOW_TYPES.target;
    const id = missingKeyIn(cause);
    const lackedKey = id === undefined ? undefined : { id, isHere: codec.keyIds.includes(id) };
    return { workflowId, runId, isTarget, attempts, cause: cause.slice(0, MAX_CAUSE_CHARACTERS), lackedKey };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

export async function findStuckTasks(temporal: TemporalConnection): Promise<readonly StuckTask[]> {
  const stuck: StuckTask[] = [];
  for await (const { workflowId } of eachRunning(temporal, Object.values(WORKFLOW_TYPES))) {
    const task = await findStuckTask(temporal, workflowId);
    if (task !== undefined) stuck.push(task);
  }
  return stuck;
}

/**
 * Terminates a stuck workflow. A target is started again at once, and keeps its hold, quarantine, verified revisions
 * and numbers. Its running release is canceled and restores what it changed.
 */
export async function terminateStuck(
  temporal: TemporalConnection,
  { workflowId, runId, isTarget }: StuckTask,
): Promise<void> {
  await temporal.client.workflow
    .getHandle(workflowId, runId)
    // Temporal does not encrypt the reason. The failure itself is in the history.
    .terminate('its workflow task failed again and again')
    // Another person may have been faster.
    .catch(orNone(isGone));
  if (isTarget) await startAgain(temporal, workflowId);
}

export function stuckText({ attempts, cause }: StuckTask): string {
  return `its task failed ${attempts} times in a row: ${cause}`;
}

/** What a person does about a stuck workflow. A key that is not here either may be lost, or never have existed. */
export function remedyOf({ lackedKey }: StuckTask): string {
  const end = 'end it: slipway doctor --fix';
  if (lackedKey === undefined) return end;
  const give = `give every worker the payload key "${lackedKey.id}" in ${PAYLOAD_KEYS}, and it continues`;
  return lackedKey.isHere ? give : `${give}; if that key is lost, ${end}`;
}

/**
 * @throws SlipwayError SLIPWAY_WORKFLOW_STUCK if a workflow is stuck, so that a missing answer is not blamed on the
 * worker.
 */
export async function refuseStuck(temporal: TemporalConnection, workflowId: string): Promise<void> {
  // The error of what was asked for says more.
  const stuck = await findStuckTask(temporal, workflowId).catch(orNone(isTemporalSilent));
  if (stuck === undefined) return;
  const what = `workers cannot continue this workflow: ${stuckText(stuck)}`;
  const hint = `${remedyOf(stuck)}; to restore a revision meanwhile: slipway rollback --break-glass`;
  throw new SlipwayError('SLIPWAY_WORKFLOW_STUCK', what, { place: workflowId, hint });
}

/**
 * Starts a target again if it was terminated. It reads its state from its earlier run, else from its record store.
 * @throws WorkflowNotFoundError if there was no earlier run.
 */
export async function startAgain(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<void> {
  const earlier = await client.workflow.getHandle(workflowId).describe();
  if (earlier.status.name === 'RUNNING') return;
  await client.workflow.start(WORKFLOW_TYPES.target, targetAgain(earlier, settings.taskQueue));
}
