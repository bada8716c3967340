import { WorkflowNotFoundError } from '@temporalio/client';

import type { TemporalConnection } from '../../../src/temporal/client/connection.ts';
import type { PayloadCipher } from '../../../src/temporal/codec/payloadCipher.ts';

export interface ToldWorkflow {
  /** Absent: it runs. */
  readonly status?: string;
  /** The attempt of its workflow task; absent: no task is pending. */
  readonly attempt?: number;
  /** Another person terminates it just before this one does. */
  readonly isGone?: true;
  readonly events?: readonly object[];
}

export const COMPLETED = { workflowTaskCompletedEventAttributes: {} };

export function failed(message: string): object {
  return { workflowTaskFailedEventAttributes: { cause: 24, failure: { message } } };
}

/** A Temporal with these workflows, by id. It records which ones are terminated and started. */
export function stuckTemporal(workflows: Readonly<Record<string, ToldWorkflow>>, codec?: PayloadCipher) {
  const terminated: [workflowId: string, runId: string | undefined, reason: string | undefined][] = [];
  const started: string[] = [];
  const ended = new Set<string>();
  const told = (workflowId: string): ToldWorkflow => workflows[workflowId] ?? {};
  const temporal = {
    client: {
      workflow: {
        // eslint-disable-next-line @typescript-eslint/require-await -- the client's list is asynchronous
        async *list() {
          for (const workflowId of Object.keys(workflows)) yield { workflowId };
        },
        start: (_type: string, { workflowId }: { readonly workflowId: string }) => {
          started.push(workflowId);
          return Promise.resolve();
        },
        getHandle: (workflowId: string, runId?: string) => ({
          describe: () => {
            const { attempt, status } = told(workflowId);
            const name = status ?? (ended.has(workflowId) ? 'TERMINATED' : 'RUNNING');
            const raw = attempt === undefined ? {} : { pendingWorkflowTask: { attempt } };
            const type = workflowId.includes('/') ? 'release' : 'target';
            const typedSearchAttributes = { get: () => 'production' };
            const runId = `run of ${workflowId}`;
            return Promise.resolve({ workflowId, raw, status: { name }, type, typedSearchAttributes, runId });
          },
          terminate: (reason?: string) => {
            ended.add(workflowId);
            if (told(workflowId).isGone)
              return Promise.reject(new WorkflowNotFoundError('gone', workflowId, runId));
            terminated.push([workflowId, runId, reason]);
            return Promise.resolve();
          },
        }),
      },
    },
    connection: {
      workflowService: {
        getWorkflowExecutionHistoryReverse: ({ execution }: { execution: { workflowId: string } }) =>
          Promise.resolve({ history: { events: (told(execution.workflowId).events ?? []).toReversed() } }),
      },
    },
    settings: { namespace: 'default', taskQueue: 'slipway', codec },
  } as unknown as TemporalConnection;
  return { temporal, terminated, started };
}
