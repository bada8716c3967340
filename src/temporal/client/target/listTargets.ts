import { defineSearchAttributeKey } from '@temporalio/common';

import { SEARCH_ATTRIBUTES } from '../../../domain/searchAttributes.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../connection.ts';
import { isGone, temporalError } from '../temporalError.ts';

/** A target that has accepted a release. */
export interface ListedTarget {
  readonly workflowId: string;
  /** Its name in `slipway.yaml`. */
  readonly name: string;
}

const TARGET = defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD');
/** The limit for the list call, in milliseconds. */
const LIST_TIMEOUT_MS = 10_000;

/**
 * The targets whose workflows run in the namespace, by name. Temporal's list is up to a few seconds late.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function listTargets({
  client,
  settings,
}: TemporalConnection): Promise<readonly ListedTarget[]> {
  const query = `WorkflowType = '${WORKFLOW_TYPES.target}' AND ExecutionStatus = 'Running'`;
  try {
    const found = await client.withDeadline(Date.now() + LIST_TIMEOUT_MS, async () => {
      const targets: ListedTarget[] = [];
      for await (const { workflowId, typedSearchAttributes } of client.workflow.list({ query })) {
        targets.push({ workflowId, name: typedSearchAttributes.get(TARGET) ?? workflowId });
      }
      return targets;
    });
    return found.sort((one, other) => one.name.localeCompare(other.name));
  } catch (error) {
    throw temporalError(error, settings);
  }
}

/**
 * A target by its workflow id, even if Temporal's list does not show it yet; `undefined` if there is none.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function findTarget(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<ListedTarget | undefined> {
  try {
    const { type, typedSearchAttributes } = await client.withDeadline(Date.now() + LIST_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).describe(),
    );
    if (type !== WORKFLOW_TYPES.target) return undefined;
    return { workflowId, name: typedSearchAttributes.get(TARGET) ?? workflowId };
  } catch (error) {
    if (isGone(error)) return undefined;
    throw temporalError(error, settings);
  }
}
