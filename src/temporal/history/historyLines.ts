import { failureDetail } from '../../domain/failure.ts';
import { decode, decodeAll, type History, type HistoryEvent, timeOf, activityEndOf } from './payloads.ts';

export interface HistoryLine {
  readonly at: string;
  readonly message: string;
}

/**
 * The history of a release, a rollback or a promotion as text, oldest first: its activities with attempts and
 * failures, the messages that it received, and its end.
 */
export function historyLines({ events }: History): readonly HistoryLine[] {
  const all = events ?? [];
  const scheduled = new Map(all.map((event) => [String(event.eventId), event]));
  const started = new Map(
    all.flatMap((event) => {
      const { scheduledEventId, attempt } = event.activityTaskStartedEventAttributes ?? {};
      return scheduledEventId == null ? [] : [[String(scheduledEventId), attempt ?? 1] as const];
    }),
  );
  return all.flatMap((event) => {
    const message = textOf(event, scheduled, started);
    return message === undefined ? [] : [{ at: new Date(timeOf(event)).toISOString(), message }];
  });
}

type Events = ReadonlyMap<string, HistoryEvent>;

function textOf(
  event: HistoryEvent,
  events: Events,
  attempts: ReadonlyMap<string, number>,
): string | undefined {
  const begun = event.workflowExecutionStartedEventAttributes;
  if (begun != null) return `workflow ${begun.workflowType?.name ?? ''} started`;
  if (event.activityTaskScheduledEventAttributes != null) return `${activityOf(event)} scheduled`;
  return (
    startText(event, events) ??
    endText(event, events, attempts) ??
    localText(event) ??
    messageText(event) ??
    workflowEndText(event)
  );
}

function startText(event: HistoryEvent, events: Events): string | undefined {
  const start = event.activityTaskStartedEventAttributes;
  if (start == null || (start.attempt ?? 1) <= 1) return undefined;
  const before = failureText(start.lastFailure);
  return `${named(start.scheduledEventId, events)} attempt ${start.attempt ?? 1} started; the one before: ${before}`;
}

function endText(
  event: HistoryEvent,
  events: Events,
  attempts: ReadonlyMap<string, number>,
): string | undefined {
  const id = activityEndOf(event)?.scheduledEventId;
  if (id == null) return undefined;
  return `${named(id, events)} ${endingText(event)} (attempt ${attempts.get(String(id)) ?? 1})`;
}

function endingText(event: HistoryEvent): string {
  if (event.activityTaskCompletedEventAttributes != null) return 'completed';
  const failed = event.activityTaskFailedEventAttributes;
  if (failed != null) return `failed: ${failureText(failed.failure)}`;
  const timedOut = event.activityTaskTimedOutEventAttributes;
  return timedOut == null ? 'was canceled' : `timed out: ${failureText(timedOut.failure)}`;
}

function localText(event: HistoryEvent): string | undefined {
  const { markerName, details, failure } = event.markerRecordedEventAttributes ?? {};
  if (markerName !== 'core_local_activity') return undefined;
  const { activity_type: name } = decode(details?.['data']) as { readonly activity_type: string };
  return `${name} ${failure == null ? 'completed' : `failed: ${failureText(failure)}`} (local)`;
}

function messageText(event: HistoryEvent): string | undefined {
  const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
  if (signal != null) return `signal ${signal}`;
  const update = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input?.name;
  if (update != null) return `update ${update} accepted`;
  const task = event.workflowTaskFailedEventAttributes;
  return task == null ? undefined : `workflow task failed: ${failureText(task.failure)}`;
}

function workflowEndText(event: HistoryEvent): string | undefined {
  const completed = event.workflowExecutionCompletedEventAttributes;
  if (completed != null) return `workflow completed${outcomeText(decode(completed.result))}`;
  const failed = event.workflowExecutionFailedEventAttributes;
  if (failed != null) return `workflow failed: ${failureText(failed.failure)}`;
  if (event.workflowExecutionCanceledEventAttributes != null) return 'workflow was canceled';
  if (event.workflowExecutionTerminatedEventAttributes != null) return 'workflow was terminated';
  return event.workflowExecutionTimedOutEventAttributes == null ? undefined : 'workflow timed out';
}

function outcomeText(result: unknown): string {
  const { outcome, reason } = (result ?? {}) as { readonly outcome?: unknown; readonly reason?: unknown };
  if (typeof outcome !== 'string') return '';
  return typeof reason === 'string' ? `: ${outcome}, ${reason}` : `: ${outcome}`;
}

function named(id: unknown, events: Events): string {
  const event = events.get(String(id));
  return event === undefined ? 'an activity' : activityOf(event);
}

function activityOf({ activityTaskScheduledEventAttributes: scheduled, userMetadata }: HistoryEvent): string {
  const name = scheduled?.activityType?.name ?? '';
  const { summary } = userMetadata ?? {};
  const title = summary == null ? undefined : decodeAll({ payloads: [summary] })[0];
  return typeof title === 'string' ? `${name} [${title}]` : name;
}

type Failure = NonNullable<HistoryEvent['activityTaskFailedEventAttributes']>['failure'];

/** The innermost failure, without Temporal's wrappers, and its code. */
function failureText(failure: Failure): string {
  if (failure == null) return 'for a reason that is not known';
  if (failure.cause != null && failure.applicationFailureInfo == null) return failureText(failure.cause);
  const { details } = failure.applicationFailureInfo ?? {};
  const code = details == null ? undefined : failureDetail(decodeAll(details))?.code;
  return `${failure.message ?? ''}${code === undefined ? '' : ` (${code})`}`;
}
