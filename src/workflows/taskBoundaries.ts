import { defaultPayloadConverter } from '@temporalio/common';
import {
  type ActivateInput,
  ApplicationFailure,
  type ConcludeActivationInput,
  condition,
  type WorkflowInterceptorsFactory,
} from '@temporalio/workflow';
import { beginTries, isTrying } from './localFirst.ts';
import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../messages/earlyQuery.ts';

/**
 * Keeps every history replayable: a workflow's code runs live on the same events at once as when it is rebuilt from its
 * history. Core (SDK 1.24) groups them differently in three cases.
 *
 * 1. A query can reach a worker before the workflow task of the newest events does. Core runs the workflow on these events
 *    for the query, with the clock of the task before, and keeps what came of it. The task itself then runs only what is
 *    new, such as an update. A rebuild runs both at once, the update first: its commands are in another order, and the
 *    workflow is stuck for good. Such an activation moves the history on, but not the clock. Its query is refused, which
 *    makes Core drop the workflow and rebuild it for the task. Slipway's clients ask again (`connection.ts`).
 * 2. A rebuild may run two tasks at once if the first left no event (temporalio/sdk-rust#1146). So every task that brings
 *    the workflow an event of the history leaves one.
 * 3. A query that comes with a task makes Core complete the task while a local activity runs, or before the workflow has
 *    its result. A message of the next task then reaches the workflow before the result. A rebuild brings both at once, or
 *    the result first. So messages wait until no local activity runs. A task that brings a result and something else fails,
 *    which makes Core rebuild the workflow. And a task that only begins a local activity leaves an event, as by 2.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let clock = '';
  let length = 0;
  /** Whether the workflow has run on events whose workflow task is still to come. */
  let isAhead = false;
  let hasEvents = false;
  const whenTried = <T>(then: () => Promise<T>): Promise<T> =>
    isTrying() ? condition(() => !isTrying()).then(then) : then();
  return {
    inbound: [
      {
        handleSignal: (input, next) => whenTried(() => next(input)),
        handleUpdate: (input, next) => whenTried(() => next(input)),
      },
    ],
    internals: [
      {
        activate(input, next) {
          const { timestamp, historyLength, isReplaying, jobs } = input.activation;
          const query = jobs?.find(({ queryWorkflow }) => queryWorkflow != null)?.queryWorkflow;
          if (query == null) {
            const now = `${String(timestamp?.seconds)}.${String(timestamp?.nanos)}`;
            const isLonger = (historyLength ?? 0) > length;
            if (isAhead && isLonger) throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
            isAhead ||= isReplaying !== true && isLonger && now === clock;
            clock = now;
            length = historyLength ?? 0;
            const isTaskNew = jobs?.every(isLocalResult) !== true;
            const bringsBoth = isTaskNew && jobs?.some(isLocalResult) === true;
            if (bringsBoth && isReplaying !== true) throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
            if (isTaskNew) beginTries();
            // A local activity that runs leaves an event when it ends.
            hasEvents ||=
              !isTrying() && jobs?.some((job) => job.doUpdate == null && !isLocalResult(job)) === true;
          } else if (isAhead && query.headers?.[QUERY_CLOSED_HEADER] == null) {
            throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
          }
          next(input);
        },
        concludeActivation(input, next) {
          const { commands } = next(input);
          // The event of a local activity has its input only if asked for. The audit reads it.
          for (const { scheduleLocalActivity } of commands)
            if (scheduleLocalActivity != null) scheduleLocalActivity.includeArgumentsIntoMarker = true;
          const isTraceless = hasEvents && !leaveEvent(commands);
          hasEvents = false;
          return { commands: isTraceless ? [...commands, NOTHING] : commands };
        },
      },
    ],
  };
};

type Command = ConcludeActivationInput['commands'][number];
type Job = NonNullable<ActivateInput['activation']['jobs']>[number];

/** Whether a job is the end of a local activity: no event of the history, and within the task that began it. */
function isLocalResult({ resolveActivity }: Job): boolean {
  return resolveActivity?.isLocal === true;
}

/**
 * Whether commands leave an event in this very task. What a task both begins and cancels leaves none, and neither does a
 * refused update. A local activity may end in the next task.
 */
function leaveEvent(commands: readonly Command[]): boolean {
  const begun = new Set(commands.map(begins));
  const canceled = new Set(commands.map(cancels));
  return commands.some((command) => {
    if (command.updateResponse != null) return command.updateResponse.rejected == null;
    return (
      command.respondToQuery == null &&
      command.scheduleLocalActivity == null &&
      command.requestCancelLocalActivity == null &&
      !canceled.has(begins(command)) &&
      !begun.has(cancels(command))
    );
  });
}

function begins({ startTimer, scheduleActivity }: Command): string | symbol {
  if (startTimer != null) return `timer ${String(startTimer.seq)}`;
  return scheduleActivity == null ? Symbol() : `activity ${String(scheduleActivity.seq)}`;
}

function cancels({ cancelTimer, requestCancelActivity }: Command): string | symbol {
  if (cancelTimer != null) return `timer ${String(cancelTimer.seq)}`;
  return requestCancelActivity == null ? Symbol() : `activity ${String(requestCancelActivity.seq)}`;
}

/** The smallest event that a command can leave: an entry of the memo that was never there is removed. */
const NOTHING: Command = {
  modifyWorkflowProperties: {
    upsertedMemo: { fields: { nothing: defaultPayloadConverter.toPayload(undefined) } },
  },
};
