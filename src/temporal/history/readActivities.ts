import type { ActivityFact } from '../../domain/audit/facts.ts';
import { failureDetail } from '../../domain/failure.ts';
import { activityEndOf, decode, decodeAll, type History, type HistoryEvent, timeOf } from './payloads.ts';

/** Reads the activities in a history, in the order in which they were scheduled. */
export function readActivities(history: History): ActivityFact[] {
  const events = history.events ?? [];
  const ends = new Map<string, HistoryEvent>();
  const abandoned = new Map<string, number>();
  for (const event of events) {
    const scheduledId = activityEndOf(event)?.scheduledEventId;
    if (scheduledId != null) ends.set(String(scheduledId), event);
    const asked = event.activityTaskCancelRequestedEventAttributes;
    if (asked != null) abandoned.set(String(asked.scheduledEventId), timeOf(event));
  }
  let localFrom = 0;
  return events.flatMap((event): ActivityFact[] => {
    if (event.workflowTaskStartedEventAttributes != null) localFrom = timeOf(event);
    const local = readLocalActivity(event, localFrom);
    if (local !== undefined) localFrom = local.endedAt;
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (scheduled == null) return local === undefined ? [] : [local];
    const end = ends.get(String(event.eventId));
    const abandonedAt = abandoned.get(String(event.eventId));
    return [
      {
        name: scheduled.activityType?.name ?? '',
        input: (decode(scheduled.input) ?? {}) as ActivityFact['input'],
        scheduledAt: timeOf(event),
        endedAt: end === undefined ? null : timeOf(end),
        abandonedAt,
        ...outcomeOf(end),
      },
    ];
  });
}

/**
 * Reads a local activity (`workflows/localFirst.ts`); `undefined` if the event is none.
 * @param from - when the workflow task began, or when its previous local activity ended.
 */
function readLocalActivity(
  event: HistoryEvent,
  from: number,
): (ActivityFact & { readonly endedAt: number }) | undefined {
  const { markerName, details = {}, failure } = event.markerRecordedEventAttributes ?? {};
  if (markerName !== 'core_local_activity') return undefined;
  const { activity_type: name, complete_time: ended } = decode(details?.['data']) as LocalActivityData;
  const base = {
    name,
    input: (decode(details?.['input']) ?? {}) as ActivityFact['input'],
    scheduledAt: from,
    endedAt: ended === null ? timeOf(event) : ended.seconds * 1_000 + ended.nanos / 1_000_000,
  };
  if (failure == null) {
    const result = (decode(details?.['result']) ?? null) as ActivityFact['result'];
    return { ...base, outcome: 'completed', result, mayHaveBeenTaken: true };
  }
  const cause = failure.activityFailureInfo == null ? failure : failure.cause;
  if (cause?.applicationFailureInfo != null) return { ...base, ...failedWith(cause) };
  const outcome = cause?.canceledFailureInfo == null ? 'timed_out' : 'canceled';
  return { ...base, outcome, result: null, mayHaveBeenTaken: true };
}

interface LocalActivityData {
  readonly activity_type: string;
  /** `null` if it was canceled or timed out. */
  readonly complete_time: { readonly seconds: number; readonly nanos: number } | null;
}

function failedWith(
  failure: Failure | null | undefined,
): Pick<ActivityFact, 'outcome' | 'result' | 'mayHaveBeenTaken'> {
  const detail = failureDetail(decodeAll(failure?.applicationFailureInfo?.details));
  return { outcome: 'failed', result: null, mayHaveBeenTaken: detail?.mayHaveBeenTaken ?? true };
}

type Failure = NonNullable<NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure']>;

function outcomeOf(
  end: HistoryEvent | undefined,
): Pick<ActivityFact, 'outcome' | 'result' | 'mayHaveBeenTaken'> {
  const completed = end?.activityTaskCompletedEventAttributes;
  if (completed != null) {
    const result = (decode(completed.result) as ActivityFact['result'] | undefined) ?? null;
    return { outcome: 'completed', result, mayHaveBeenTaken: true };
  }
  const failed = end?.activityTaskFailedEventAttributes;
  if (failed != null) return failedWith(failed.failure);
  if (end?.activityTaskTimedOutEventAttributes != null) {
    return { outcome: 'timed_out', result: null, mayHaveBeenTaken: true };
  }
  const outcome = end?.activityTaskCanceledEventAttributes == null ? 'open' : 'canceled';
  return { outcome, result: null, mayHaveBeenTaken: true };
}
