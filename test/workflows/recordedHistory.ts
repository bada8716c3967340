import type { Client, WorkflowHandle } from '@temporalio/client';

export interface RecordedHistory {
  readonly workflowId: string;
  readonly history: Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
}

/** The histories of a workflow's runs, newest first. Each run except the oldest continues the one before it. */
export async function historiesOf(client: Client, workflowId: string): Promise<RecordedHistory[]> {
  const histories: RecordedHistory[] = [];
  let runId: string | undefined;
  do {
    const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
    histories.push({ workflowId, history });
    runId = continuedRunId(history);
  } while (runId !== undefined);
  return histories;
}

export function continuedRunId({ events }: RecordedHistory['history']): string | undefined {
  const runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId ?? '';
  return runId === '' ? undefined : runId;
}

export type HistoryEvent = NonNullable<RecordedHistory['history']['events']>[number];

/** The activity that ran within a workflow task according to an event; `undefined`: the event is of another kind. */
export function triedIn({ markerRecordedEventAttributes: marker }: HistoryEvent): string | undefined {
  const data = marker?.details?.['data']?.payloads?.[0]?.data;
  if (data == null) return undefined;
  return (JSON.parse(Buffer.from(data).toString()) as { activity_type: string }).activity_type;
}
