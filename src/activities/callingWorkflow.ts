import { Context, type Info } from '@temporalio/activity';

export type CallingWorkflow = NonNullable<Info['workflowExecution']>;

/** The workflow that started this activity. The SDK's type also covers activities that clients start: there are none. */
export function callingWorkflow({ workflowExecution }: Info = Context.current().info): CallingWorkflow {
  if (workflowExecution === undefined) throw new Error('this activity was started without a workflow');
  return workflowExecution;
}
