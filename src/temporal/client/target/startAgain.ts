import { defineSearchAttributeKey } from '@temporalio/common';

import { SEARCH_ATTRIBUTES } from '../../../domain/searchAttributes.ts';
import { targetRun } from '../../../messages/targetStart.ts';
import { WORKFLOW_TYPES } from '../../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../connection.ts';

/**
 * Starts a target again that was terminated: it reads what it knew from its earlier run, else from its record store.
 *
 * @throws WorkflowNotFoundError where there was no earlier run.
 */
export async function startAgain(
  { client, settings }: TemporalConnection,
  workflowId: string,
): Promise<void> {
  const { typedSearchAttributes } = await client.workflow.getHandle(workflowId).describe();
  const name = typedSearchAttributes.get(defineSearchAttributeKey(SEARCH_ATTRIBUTES.target, 'KEYWORD'));
  await client.workflow.start(WORKFLOW_TYPES.target, {
    ...targetRun(workflowId, name ?? workflowId, settings.taskQueue),
    args: [],
  });
}
