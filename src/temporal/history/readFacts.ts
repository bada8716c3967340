import { pick } from '@slipway/contract/pick';
import protos from '@temporalio/proto';

import type {
  GuardFact,
  PromotionFact,
  SubmissionFact,
  TargetFacts,
  WorkFact,
} from '../../domain/audit/facts.ts';
import { isAnother } from '../../domain/deployment/revision.ts';
import { type PromotionResult, promotionSubmission } from '../../domain/promotion/promotion.ts';
import type { ReleaseResult } from '../../domain/release/release.ts';
import type { ReleaseAnswer } from '../../domain/target/targetState.ts';
import { resultInFailure } from '../../domain/workflowResult.ts';
import { QUERY_TOO_EARLY } from '../../messages/earlyQuery.ts';
import { changingSignal, preemptGuardSignal } from '../../messages/target.ts';
import {
  type GuardInput,
  type GuardResult,
  ID_PREFIXES,
  type ReleaseInput,
} from '../../messages/workflowTypes.ts';
import { asText, decode, decodeAll, type History, type HistoryEvent, timeOf } from './payloads.ts';
import { readActivities } from './readActivities.ts';
import { readMessages } from './readMessages.ts';

const { ParentClosePolicy, WorkflowTaskFailedCause: Cause } = protos.temporal.api.enums.v1;

export interface AuditedHistory {
  readonly workflowId: string;
  readonly history: History;
  /** Whether a reset in Temporal began this run of a release or a rollback. */
  readonly isReset?: boolean;
}

/**
 * Reads the facts in the histories of one target.
 * @param targetId - the target's workflow id. The histories are those of its runs, its children, its notices, and the
 * promotions to it.
 */
export function readTargetFacts(targetId: string, histories: readonly AuditedHistory[]): TargetFacts {
  const own = histories.filter(({ workflowId }) => workflowId === targetId);
  const children = histories.filter(({ workflowId }) => workflowId.startsWith(`${targetId}/`));
  const worksOf = (found: readonly AuditedHistory[]): WorkFact[] =>
    found.map(readWork).sort((one, other) => one.startedAt - other.startedAt);
  const promotions = histories.filter(({ workflowId }) => workflowId.startsWith(ID_PREFIXES.promotion));
  const guards = histories.filter(({ workflowId }) =>
    workflowId.startsWith(`${ID_PREFIXES.guard}${targetId}/`),
  );
  return {
    workflowId: targetId,
    idle: own.some(({ history }) => isIdle(history)),
    works: worksOf(children.filter(({ isReset }) => isReset !== true)),
    resets: worksOf(children.filter(({ isReset }) => isReset === true)),
    guards: guards.map(readGuard),
    unguarded: own.flatMap(({ history }) => readUnguarded(targetId, history)),
    activities: own.flatMap(({ history }) => readActivities(history)),
    submissions: readSubmissions(own),
    said: readMessages(own.map(({ history }) => history)),
    promotions: promotions.map(readPromotion),
    taskFailures: histories.flatMap(({ workflowId, history }) =>
      readFailedTasks(history.events ?? []).map((failed) => ({ workflowId, ...failed })),
    ),
    texts: histories.map(({ workflowId, history }) => ({ workflowId, text: asText(history) })),
  };
}

function readWork({ workflowId, history }: AuditedHistory): WorkFact {
  const started = history.events?.[0]?.workflowExecutionStartedEventAttributes;
  const input = decode(started?.input) as ReleaseInput;
  const end = endOf(history);
  const result = end.result as ReleaseResult | null;
  const last = history.events?.at(-1);
  return {
    workflowId,
    kind: started?.workflowType?.name === 'rollback' ? 'rollback' : 'release',
    startedAt: timeOf(history.events?.[0]),
    endedAt: end.ended === 'running' ? null : timeOf(last),
    ended: end.ended,
    request: input.request,
    known: isAnother(result?.deploymentId ?? null, input.knownIn) ? [] : input.known,
    result,
    announcesChange: history.events?.some(
      (event) =>
        event.signalExternalWorkflowExecutionInitiatedEventAttributes?.signalName === changingSignal.name,
    ),
    activities: readActivities(history),
  };
}

function readGuard({ workflowId, history }: AuditedHistory): GuardFact {
  const input = decode(history.events?.[0]?.workflowExecutionStartedEventAttributes?.input) as GuardInput;
  const { report = null, answer = null } = (endOf(history).result ?? {}) as Partial<GuardResult>;
  return {
    workflowId,
    ...pick(input, 'releaseId', 'revisionId', 'policy', 'since', 'until'),
    report,
    answer,
    preemptedAt: readPreemptedAt(history, input.targetId),
    activities: readActivities(history),
  };
}

/** When a guard's target preempted it, in milliseconds since 1970; `null`: it did not. */
function readPreemptedAt({ events }: History, targetId: string): number | null {
  const preempted = events?.find(
    ({ workflowExecutionSignaledEventAttributes: signaled }) =>
      signaled?.signalName === preemptGuardSignal.name &&
      signaled.externalWorkflowExecution?.workflowId === targetId,
  );
  return preempted === undefined ? null : timeOf(preempted);
}

/**
 * The works whose end a run of the target processed without starting a guard, which it does before the next work. What came
 * with a reset was for the life that it ended: the run before, whose state the next life reads, has processed it.
 */
function readUnguarded(targetId: string, { events: all }: History): string[] {
  const events = all ?? [];
  const isTask = (event: HistoryEvent): boolean => event.workflowTaskCompletedEventAttributes != null;
  const lastTask = events.findLastIndex(isTask);
  const resets = events.flatMap((event, reset) => {
    if (!event.workflowTaskFailedEventAttributes?.newRunId) return [];
    const after = events.findIndex((later, index) => index > reset && isTask(later));
    return [{ before: events.slice(0, reset).findLastIndex(isTask), after }];
  });
  return events.slice(0, Math.max(lastTask, 0)).flatMap((event, index) => {
    if (resets.some(({ before, after }) => index > before && index < after)) return [];
    const ended = event.childWorkflowExecutionCompletedEventAttributes?.workflowExecution?.workflowId ?? '';
    if (!ended.startsWith(`${targetId}/`)) return [];
    const begun = events
      .slice(index)
      .map((later) => later.startChildWorkflowExecutionInitiatedEventAttributes?.workflowId ?? '');
    const isGuard = (id: string): boolean => id.startsWith(`${ID_PREFIXES.guard}${targetId}/`);
    const next = begun.find((id) => isGuard(id) || id.startsWith(`${targetId}/`));
    return next !== undefined && isGuard(next) ? [] : [ended];
  });
}

function readPromotion({ workflowId, history }: AuditedHistory): PromotionFact {
  const events = history.events ?? [];
  const originalRunId = events[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '';
  const resets = events.flatMap((event) => event.workflowTaskFailedEventAttributes?.newRunId || []);
  const submissions = [originalRunId, ...resets].map((runId) =>
    promotionSubmission(workflowId, originalRunId, runId),
  );
  return { workflowId, originalRunId, submissions, result: endOf(history).result as PromotionResult | null };
}

function readSubmissions(own: readonly AuditedHistory[]): SubmissionFact[] {
  const found = new Map<string, SubmissionFact>();
  const note = (id: string, fact: Partial<SubmissionFact>): void => {
    found.set(id, { ...(found.get(id) ?? { id, answer: null, withdrawnAt: null }), ...fact });
  };
  const withdraws = (said: unknown, event: HistoryEvent): void => {
    const { submission: id } = (said ?? {}) as { readonly submission?: unknown };
    if (typeof id !== 'string') return;
    // The ids of a promotion's runs after a reset continue the original run's id.
    for (const each of [id, ...[...found.keys()].filter((other) => other.startsWith(`${id} `))])
      note(each, { withdrawnAt: found.get(each)?.withdrawnAt ?? timeOf(event) });
  };
  const asked = new Set<string>();
  // `own` has the newest run first.
  for (const event of own.toReversed().flatMap(({ history }) => history.events ?? [])) {
    const signaled = event.workflowExecutionSignaledEventAttributes;
    if (signaled?.signalName === 'withdraw') withdraws(decode(signaled.input), event);
    const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
    const { name, args } = accepted?.acceptedRequest?.input ?? {};
    if (name === 'withdraw') withdraws(decode(args), event);
    if (name === 'submitRelease') asked.add(accepted?.protocolInstanceId ?? '');
    const { meta, outcome } = event.workflowExecutionUpdateCompletedEventAttributes ?? {};
    const id = meta?.updateId ?? '';
    const answer = decode(outcome?.success) as ReleaseAnswer | undefined;
    if (asked.has(id) && answer !== undefined) note(id, { answer });
  }
  return [...found.values()];
}

function endOf(history: History): { readonly ended: WorkFact['ended']; readonly result: unknown } {
  const last = history.events?.at(-1);
  const completed = last?.workflowExecutionCompletedEventAttributes;
  if (completed != null) {
    return { ended: 'completed', result: decode(completed.result) ?? null };
  }
  const failed = last?.workflowExecutionFailedEventAttributes;
  const { type, details } = failed?.failure?.applicationFailureInfo ?? {};
  const result = resultInFailure({ type, details: decodeAll(details) }) ?? null;
  const [, ended = 'running'] = ENDS.find(([attributes]) => last?.[attributes] != null) ?? [];
  return { ended, result };
}

const ENDS = [
  ['workflowExecutionFailedEventAttributes', 'failed'],
  ['workflowExecutionCanceledEventAttributes', 'canceled'],
  ['workflowExecutionTerminatedEventAttributes', 'terminated'],
  ['workflowExecutionTimedOutEventAttributes', 'timed_out'],
  ['workflowExecutionContinuedAsNewEventAttributes', 'completed'],
] as const;

/**
 * Whether a run is open, has no open task, and has seen the end of all children. A target has an open timer only just
 * before it continues as new, and the next run handles what is left.
 */
function isIdle(history: History): boolean {
  if (hasOpenChild(history) || hasOpenTimer(history)) return false;
  const lastTask = history.events?.findLast(
    (event) =>
      event.workflowTaskScheduledEventAttributes != null ||
      event.workflowTaskCompletedEventAttributes != null,
  );
  return endOf(history).ended === 'running' && lastTask?.workflowTaskCompletedEventAttributes != null;
}

/**
 * Whether a run started a child whose end it has not seen. The child may have ended already, but its parent does not
 * know yet. A notice is abandoned once it has started, so it counts only until then.
 */
export function hasOpenChild({ events: all }: History): boolean {
  const events = all ?? [];
  const started = new Set(
    events.map((event) => String(event.childWorkflowExecutionStartedEventAttributes?.initiatedEventId)),
  );
  const ended = new Set(
    events.map((event) => {
      const end =
        event.childWorkflowExecutionCompletedEventAttributes ??
        event.childWorkflowExecutionFailedEventAttributes ??
        event.childWorkflowExecutionCanceledEventAttributes ??
        event.childWorkflowExecutionTerminatedEventAttributes ??
        event.childWorkflowExecutionTimedOutEventAttributes ??
        event.startChildWorkflowExecutionFailedEventAttributes;
      return String(end?.initiatedEventId);
    }),
  );
  return events.some(({ eventId, startChildWorkflowExecutionInitiatedEventAttributes: begun }) => {
    if (begun == null || ended.has(String(eventId))) return false;
    return (
      begun.parentClosePolicy !== ParentClosePolicy.PARENT_CLOSE_POLICY_ABANDON ||
      !started.has(String(eventId))
    );
  });
}

function hasOpenTimer({ events }: History): boolean {
  const open = new Set<string>();
  for (const event of events ?? []) {
    if (event.timerStartedEventAttributes != null) open.add(event.timerStartedEventAttributes.timerId ?? '');
    const ended = event.timerFiredEventAttributes ?? event.timerCanceledEventAttributes;
    if (ended != null) open.delete(ended.timerId ?? '');
  }
  return open.size > 0;
}

interface FailedTask {
  readonly message: string;
  /** Whether no workflow task has been completed since. */
  readonly isLast: boolean;
}

/**
 * The failed workflow tasks, oldest first. Tasks that were lost with their worker do not count. Neither do those that
 * a worker fails on purpose to have the workflow replayed (`taskBoundaries.ts`), because the next worker completes
 * them.
 */
export function readFailedTasks(events: readonly HistoryEvent[]): readonly FailedTask[] {
  const lastCompleted = events.findLastIndex((event) => event.workflowTaskCompletedEventAttributes != null);
  return events.flatMap((event, index) => {
    const failed = event.workflowTaskFailedEventAttributes;
    if (failed == null || TAKEN_BACK.has(failed.cause)) return [];
    const message = failed.failure?.message ?? `cause ${String(failed.cause)}`;
    const isLast = index > lastCompleted;
    const isRepeated = message.includes(QUERY_TOO_EARLY) || (!isLast && message.includes(EVICTED_DURING_TRY));
    return isRepeated ? [] : [{ message, isLast }];
  });
}

/**
 * How core (SDK 1.24) fails a task if a query ended the one before during a local activity, and the workflow was then
 * evicted from a full cache. The next task repeats the local activity.
 */
const EVICTED_DURING_TRY = 'Attempted to check for LA marker handling in invalid state';

/** No failures of the workflow's code: an event arrived while it was about to end, or the server took the task back. */
const TAKEN_BACK: ReadonlySet<unknown> = new Set([
  Cause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND,
  Cause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_UPDATE,
  Cause.WORKFLOW_TASK_FAILED_CAUSE_RESET_STICKY_TASK_QUEUE,
  Cause.WORKFLOW_TASK_FAILED_CAUSE_FORCE_CLOSE_COMMAND,
  Cause.WORKFLOW_TASK_FAILED_CAUSE_FAILOVER_CLOSE_COMMAND,
  Cause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
]);
