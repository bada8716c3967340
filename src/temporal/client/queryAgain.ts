import {
  QueryNotRegisteredError,
  type WorkflowClientInterceptor,
  type WorkflowQueryInput,
  type WorkflowService,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../../messages/earlyQuery.ts';

const PAUSE_MS = 50;
const MAX_ATTEMPTS = 40;
/** `temporal.api.enums.v1.WorkflowExecutionStatus` */
const RUNNING = 1;

/**
 * Asks a workflow again that has refused a query because it has not handled its newest events (`taskBoundaries.ts`): the
 * workflow task that handles them is on its way. To a closed workflow none will come, so it answers with what it has. A
 * query that names its run mostly asks one that is closed, which then need not refuse it first.
 */
export function queryAgain(service: WorkflowService, namespace: string): WorkflowClientInterceptor {
  const isClosed = async (execution: WorkflowQueryInput['workflowExecution']): Promise<boolean> => {
    const { workflowExecutionInfo } = await service.describeWorkflowExecution({ namespace, execution });
    return Number(workflowExecutionInfo?.status) !== RUNNING;
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
          const isTooEarly =
            error instanceof QueryNotRegisteredError && error.message.includes(QUERY_TOO_EARLY);
          if (!isTooEarly || attempt === MAX_ATTEMPTS) throw error;
        }
        if (await isClosed(workflowExecution)) return next(askClosed);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
  };
}
