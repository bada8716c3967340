import { setTimeout as sleep } from 'node:timers/promises';

import {
  QueryNotRegisteredError,
  type WorkflowClientInterceptor,
  type WorkflowQueryInput,
  type WorkflowService,
  type WorkflowStartUpdateOutput,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import protos from '@temporalio/proto';

import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../../messages/earlyQuery.ts';

const PAUSE_MS = 50;
const MAX_ATTEMPTS = 40;
const { WORKFLOW_EXECUTION_STATUS_RUNNING: RUNNING } = protos.temporal.api.enums.v1.WorkflowExecutionStatus;
/** `service/history/workflow/update` of the Temporal server */
const UNSEEN_UPDATE = 'UnprocessedUpdate';
/**
 * Core (SDK 1.24) delivers the result of a local activity to a workflow that it has evicted and rebuilt meanwhile, and
 * that has not started the activity yet. It then evicts the workflow again, and rebuilds it for the next query.
 */
const STALE_RESULT = 'Missing associated machine for LocalActivity';

/**
 * Repeats a query that a workflow rejected because it has not handled its newest events (`taskBoundaries.ts`). The
 * workflow task for them is on its way. A closed workflow gets none, so it may answer with its current state. A query
 * with a run id usually goes to a closed workflow, so it is marked as such from the start.
 *
 * Repeats an update that the workflow has not seen: it waited for a local activity, and a query ended its task. The
 * server then answers for the workflow.
 */
export function askAgain(service: WorkflowService, namespace: string): WorkflowClientInterceptor {
  const isClosed = async (execution: WorkflowQueryInput['workflowExecution']): Promise<boolean> => {
    const { workflowExecutionInfo } = await service.describeWorkflowExecution({ namespace, execution });
    return workflowExecutionInfo?.status !== RUNNING;
  };
  return {
    async query(input, next) {
      const { workflowExecution, headers } = input;
      const closed = { [QUERY_CLOSED_HEADER]: defaultPayloadConverter.toPayload(true) };
      const askClosed = { ...input, headers: { ...headers, ...closed } };
      if ((workflowExecution.runId ?? '') !== '' && (await isClosed(workflowExecution)))
        return next(askClosed);
      for (let attempt = 1; ; attempt++) {
        try {
          return await next(input);
        } catch (error) {
          if (!isTransient(error) || attempt === MAX_ATTEMPTS) throw error;
        }
        if (await isClosed(workflowExecution)) return next(askClosed);
        await sleep(PAUSE_MS);
      }
    },
    startUpdate: (input, next) =>
      untilSeen(
        () => next(input),
        ({ outcome }) => outcome,
      ),
    startUpdateWithStart: (input, next) =>
      untilSeen(
        () => next(input),
        ({ updateOutcome }) => updateOutcome,
      ),
  };
}

function isTransient(error: unknown): boolean {
  return (
    error instanceof QueryNotRegisteredError &&
    [QUERY_TOO_EARLY, STALE_RESULT].some((reason) => error.message.includes(reason))
  );
}

async function untilSeen<Output>(
  update: () => Promise<Output>,
  outcomeOf: (output: Output) => WorkflowStartUpdateOutput['outcome'],
): Promise<Output> {
  for (let attempt = 1; ; attempt++) {
    const output = await update();
    const { type } = outcomeOf(output)?.failure?.applicationFailureInfo ?? {};
    if (type !== UNSEEN_UPDATE || attempt === MAX_ATTEMPTS) return output;
    await sleep(PAUSE_MS);
  }
}
