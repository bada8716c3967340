/** The fields of a history event that the count reads, in the JSON format of Temporal's tools. */
interface HistoryEvent {
  readonly eventType: string;
  readonly activityTaskStartedEventAttributes?: { readonly attempt?: number };
  readonly workflowExecutionSignaledEventAttributes?: { readonly externalWorkflowExecution?: object | null };
  readonly markerRecordedEventAttributes?: {
    readonly markerName: string;
    readonly workflowTaskCompletedEventId: string;
  };
}

/** Events that are one action each. Starting a child is billed to both sides. */
const ONE_EACH = new Set([
  'WORKFLOW_EXECUTION_STARTED',
  'START_CHILD_WORKFLOW_EXECUTION_INITIATED',
  'TIMER_STARTED',
  'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED',
  'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
  'WORKFLOW_EXECUTION_UPDATE_ACCEPTED',
]);

/**
 * The actions that Temporal Cloud bills for a history (https://docs.temporal.io/cloud/actions). A signal from a
 * workflow is counted for its sender. Heartbeats, queries, rejected updates and a scheduled start's two actions are not
 * in a history, so they are not counted.
 */
export function billedActions(events: readonly HistoryEvent[]): number {
  // All local activities of one workflow task are one action.
  const tasksWithLocalActivities = new Set<string>();
  let actions = 0;
  for (const event of events) {
    const type = event.eventType.replace('EVENT_TYPE_', '');
    const marker = event.markerRecordedEventAttributes;
    if (ONE_EACH.has(type)) actions += 1;
    // Attempts before the last one have no events.
    if (type === 'ACTIVITY_TASK_STARTED') actions += event.activityTaskStartedEventAttributes?.attempt ?? 1;
    if (
      type === 'WORKFLOW_EXECUTION_SIGNALED' &&
      event.workflowExecutionSignaledEventAttributes?.externalWorkflowExecution == null
    ) {
      actions += 1;
    }
    if (marker?.markerName === 'core_local_activity') {
      tasksWithLocalActivities.add(marker.workflowTaskCompletedEventId);
    }
  }
  return actions + tasksWithLocalActivities.size;
}
