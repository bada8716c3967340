import { targetNameOf } from '../../../messages/target.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import { type TemporalConnection, callOrNone } from '../connection.ts';
import { listRunning } from '../listRunning.ts';
import { isGone } from '../temporalError.ts';

export interface ListedTarget {
  readonly workflowId: string;
  readonly name: string;
}

const DESCRIBE_TIMEOUT_MS = 10_000;

/** The targets whose workflows run in the namespace, by name. Temporal's list is up to a few seconds late. */
export async function listTargets(temporal: TemporalConnection): Promise<readonly ListedTarget[]> {
  const found = await listRunning(temporal, WORKFLOW_TYPES.target, (run) => ({
    workflowId: run.workflowId,
    name: targetNameOf(run),
  }));
  return found.sort((one, other) => one.name.localeCompare(other.name));
}

/** A target by its workflow id, even if Temporal's list does not show it yet; `undefined` if there is none. */
export async function findTarget(
  temporal: TemporalConnection,
  workflowId: string,
): Promise<ListedTarget | undefined> {
  const describe = () => temporal.client.workflow.getHandle(workflowId).describe();
  const found = await callOrNone(temporal, isGone, describe, DESCRIBE_TIMEOUT_MS);
  if (found?.type !== WORKFLOW_TYPES.target) return undefined;
  return { workflowId, name: targetNameOf(found) };
}
