import { heartbeatEveryMs } from '../../domain/cost/waitingCost.ts';
import { type HistoryEvent, timeOf, activityEndOf } from './payloads.ts';

/** What Temporal Cloud bills, in the words of its rules. Each is a number of actions. */
export interface BilledActions {
  /** The starts of the workflow: continuing as a new run is one, too. */
  readonly starts: number;
  /** The starts of children. Each is two actions: the other one is among the child's own {@link starts}. */
  readonly children: number;
  /** Each attempt at an activity. */
  readonly attempts: number;
  /** Workflow tasks that ran local activities, however many, or recorded another marker. */
  readonly localActivities: number;
  readonly timers: number;
  /** Signals from outside, and those that the workflow sent. */
  readonly signals: number;
  /** Updates that were accepted. */
  readonly updates: number;
  /** Changes of search attributes, however many at once. */
  readonly searchAttributes: number;
  /** Changes of the workflow's own options, such as its version. */
  readonly options: number;
}

/** What a history shows of what Temporal Cloud bills for it. */
export interface HistoryCost {
  readonly actions: BilledActions;
  /** The sum of {@link actions}. */
  readonly total: number;
  /** Heartbeats are actions, too, and no history has them: so many at most, by the time that its activities took. */
  readonly heartbeatsAtMost: number;
}

/**
 * What the target spends at most on a release (the update that requests it, the start of the child, a write of its state) and on
 * a rollback (also a read of what serves, and a write of the hold).
 */
export const ACTIONS_OF_TARGET = { release: 3, rollback: 5 } as const;

/** The upsert of the SDK's own, for patches, is free. */
const FREE_ATTRIBUTE = 'TemporalChangeVersion';
/** Activities that end sooner have sent none (`activities/heartbeat.ts`). */
const FIRST_HEARTBEAT_MS = 500;

/**
 * Counts the actions that Temporal Cloud bills for a history (https://docs.temporal.io/cloud/actions). Not in a history, so not
 * counted: queries, rejected updates, attempts at activities that have not ended, and the two actions of a schedule's turn.
 */
export function billedActions(events: readonly HistoryEvent[]): HistoryCost {
  const count = (counts: (event: HistoryEvent) => unknown): number => events.filter(counts).length;
  const tasksWithMarkers = new Set(
    events.flatMap(({ markerRecordedEventAttributes: marker }) =>
      marker == null ? [] : [String(marker.workflowTaskCompletedEventId)],
    ),
  );
  const actions: BilledActions = {
    starts: count((event) => event.workflowExecutionStartedEventAttributes),
    children: count((event) => event.startChildWorkflowExecutionInitiatedEventAttributes),
    // Attempts before the last one have no events of their own.
    attempts: events.reduce(
      (sum, { activityTaskStartedEventAttributes: started }) =>
        started == null ? sum : sum + (started.attempt || 1),
      0,
    ),
    localActivities: tasksWithMarkers.size,
    timers: count((event) => event.timerStartedEventAttributes),
    // A signal from a workflow is counted for its sender.
    signals: count(
      ({
        workflowExecutionSignaledEventAttributes: received,
        signalExternalWorkflowExecutionInitiatedEventAttributes: sent,
      }) => sent != null || (received != null && received.externalWorkflowExecution == null),
    ),
    updates: count((event) => event.workflowExecutionUpdateAcceptedEventAttributes),
    searchAttributes: count(({ upsertWorkflowSearchAttributesEventAttributes: upserted }) =>
      Object.keys(upserted?.searchAttributes?.indexedFields ?? {}).some((name) => name !== FREE_ATTRIBUTE),
    ),
    options: count((event) => event.workflowExecutionOptionsUpdatedEventAttributes),
  };
  return {
    actions,
    total: Object.values<number>({ ...actions }).reduce((sum, each) => sum + each, 0),
    heartbeatsAtMost: mostHeartbeats(events),
  };
}

function mostHeartbeats(events: readonly HistoryEvent[]): number {
  const scheduled = new Map(
    events
      .filter(({ activityTaskScheduledEventAttributes: activity }) => activity?.heartbeatTimeout != null)
      .map((event) => [String(event.eventId), event]),
  );
  const attempts = new Map(
    events.flatMap(({ activityTaskStartedEventAttributes: started }) =>
      started == null ? [] : [[String(started.scheduledEventId), started.attempt || 1] as const],
    ),
  );
  let most = 0;
  for (const event of events) {
    const id = String(activityEndOf(event)?.scheduledEventId);
    const begun = scheduled.get(id);
    const took = begun === undefined ? 0 : timeOf(event) - timeOf(begun);
    if (took < FIRST_HEARTBEAT_MS) continue;
    const seconds = Number(begun?.activityTaskScheduledEventAttributes?.heartbeatTimeout?.seconds ?? 0);
    if (seconds === 0) continue;
    most += (attempts.get(id) ?? 1) + Math.floor(took / heartbeatEveryMs(seconds * 1_000));
  }
  return most;
}
