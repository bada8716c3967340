import {
  QueryNotRegisteredError,
  type WorkflowClientInterceptor,
  type WorkflowService,
} from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';

import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../workflows/messages.ts';

const PAUSE_MS = 50;
const MAX_ATTEMPTS = 40;
/** `temporal.api.enums.v1.WorkflowExecutionStatus` */
const RUNNING = 1;

/**
 * Asks a workflow again that has refused a query because it has not handled its newest events (`taskBoundaries.ts`): the
 * workflow task that handles them is on its way. To a closed workflow none will come, so it answers with what it has.
 */
export function queryAgain(service: WorkflowService, namespace: string): WorkflowClientInterceptor {
  return {
    async query(input, next) {
      for (let attempt = 1; ; attempt++) {
        try {
          return await next(input);
        } catch (error) {
          const isTooEarly =
            error instanceof QueryNotRegisteredError && error.message.includes(QUERY_TOO_EARLY);
          if (!isTooEarly || attempt === MAX_ATTEMPTS) throw error;
        }
        const { workflowExecution: execution, headers } = input;
        const { workflowExecutionInfo } = await service.describeWorkflowExecution({ namespace, execution });
        if (Number(workflowExecutionInfo?.status) !== RUNNING) {
          const closed = { [QUERY_CLOSED_HEADER]: defaultPayloadConverter.toPayload(true) };
          return await next({ ...input, headers: { ...headers, ...closed } });
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    },
  };
}
