import { defaultPayloadConverter } from '@temporalio/common';
import {
  type ActivateInput,
  ApplicationFailure,
  CancellationScope,
  type ConcludeActivationInput,
  condition,
  type WorkflowInterceptorsFactory,
} from '@temporalio/workflow';
import { beginTries, triesRunning } from './localFirst.ts';
import { QUERY_CLOSED_HEADER, QUERY_TOO_EARLY } from '../messages/earlyQuery.ts';

/**
 * Keeps every history replayable. A workflow must run on the same groups of events live and in a replay. Core (SDK
 * 1.24) groups them differently in three cases.
 *
 * 1. A query can reach a worker before the workflow task of the newest events. For the query, core runs the workflow
 *   on these events, with the clock of the previous task, and keeps the result. The task then runs only what is new,
 *   such as an update. A replay runs both together, the update first: its commands differ in order, and the workflow
 *   is stuck for good. Such an activation adds events but keeps the old clock. Its query is rejected, so that core
 *   evicts the workflow and replays it for the task. Slipway's clients repeat the query (`askAgain.ts`). It starts no
 *   local activity, which would run at once, and for the task again. If the query also brings the start of that task,
 *   core may lose the task: the next one then begins in a history without the events of the commands given. It fails,
 *   with the same effect. Only the number of events tells, so a task that was lost before two recorded time-outs can
 *   be missed.
 * 2. A replay may merge two tasks if the first left no event (temporalio/sdk-rust#1146). So each task that delivers a
 *   history event leaves one.
 * 3. A query that comes with a task makes core complete the task during a local activity, or before the workflow has
 *   the activity's result. Then an event of the next task (a message, a timer, the end of a child) reaches the workflow
 *   before the result. A replay looks ahead for the results, and delivers all of a task together, or the results first.
 *   So the results are delivered when the last one is in, and all others wait until then. A task that brings a result
 *   and something else fails, which makes core replay the workflow. A task that only starts a local activity leaves an
 *   event, as in 2.
 *
 * The SDK guards corrections of its own behavior with flags, and stores each with the first task that used it. In case 3,
 * a run may use a flag one task later than its replay, which then lacks it: a scope made in a shielded part of a canceled
 * scope is canceled. So the first task of each workflow uses that flag.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  let clock = '';
  let length = 0;
  /** Whether the workflow has run on events whose workflow task is still to come. */
  let isAhead = false;
  let hasEvents = false;
  let isLive = false;
  /** How many events this task leaves; 0 in a replay, whose history has them. */
  let eventsLeft = 0;
  /** Whether the last command was given. Core still delivers the ends of the activities that the same task canceled. */
  let isOver = false;
  /** Results of local activities, while others still run. */
  let early: Job[] = [];
  return {
    inbound: [
      {
        handleSignal: (input, next) => whenTried(() => next(input)),
        handleUpdate: (input, next) => whenTried(() => next(input)),
      },
    ],
    outbound: [
      {
        startTimer: (input, next) => afterTries(next(input)),
        scheduleActivity: (input, next) => afterTries(next(input)),
        signalWorkflow: (input, next) => afterTries(next(input)),
        async startChildWorkflowExecution(input, next) {
          const [start, end] = await next(input);
          const [started, ended] = [afterTries(start), afterTries(end)];
          // The caller may wait for only one of them.
          for (const event of [started, ended]) event.catch(() => undefined);
          return [started, ended];
        },
      },
    ],
    internals: [
      {
        activate(input, next) {
          const { timestamp, historyLength, isReplaying, jobs } = input.activation;
          const query = jobs?.find(({ queryWorkflow }) => queryWorkflow != null)?.queryWorkflow;
          if (query == null) {
            isLive = isReplaying !== true;
            const now = `${String(timestamp?.seconds)}.${String(timestamp?.nanos)}`;
            const grownBy = (historyLength ?? 0) - length;
            const results = jobs?.filter(isLocalResult) ?? [];
            const others = jobs?.filter((job) => !isLocalResult(job)) ?? [];
            // Each comes from one event or more. An accepted update leaves its event with the task's commands.
            const events = others.filter((job) => job.doUpdate == null).length;
            if (grownBy > 0) {
              // Or another worker has executed the task.
              const isTaskLost =
                eventsLeft > 0 && (!isLive || grownBy < eventsLeft + EVENTS_OF_TASK + events);
              if (isAhead || isTaskLost) throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
              isAhead ||= isLive && now === clock;
              eventsLeft = 0;
              length += grownBy;
            }
            clock = now;
            if (isLive) eventsLeft += results.length;
            if (isLive && others.length > 0 && results.length > 0)
              throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
            if (others.length > 0) beginTries();
            if (others.some(({ initializeWorkflow }) => initializeWorkflow != null)) useShieldFlag();
            // A running local activity leaves an event when it ends.
            hasEvents ||= !isTrying() && events > 0;
            const all = [...early, ...results];
            const areAllIn = all.length >= triesRunning();
            early = areAllIn ? [] : all;
            input.activation.jobs = [...others, ...(areAllIn ? all : [])];
          } else if (isAhead && query.headers?.[QUERY_CLOSED_HEADER] == null) {
            throw ApplicationFailure.nonRetryable(QUERY_TOO_EARLY);
          }
          next(input);
        },
        concludeActivation(input, next) {
          let { commands } = next(input);
          if (isAhead) commands = commands.filter((command) => !isLocal(command));
          // Include the input in the local activity's marker event, because the audit reads it.
          for (const { scheduleLocalActivity } of commands)
            if (scheduleLocalActivity != null) scheduleLocalActivity.includeArgumentsIntoMarker = true;
          isOver ||= commands.some(isLast);
          const isTraceless = hasEvents && !isOver && eventsOf(commands) === 0;
          hasEvents = false;
          const all = isTraceless ? [...commands, NOTHING] : commands;
          if (isLive) eventsLeft += eventsOf(all);
          return { commands: all };
        },
      },
    ],
  };
};

function isTrying(): boolean {
  return triesRunning() > 0;
}

/** Waits until no local activity runs, also in a canceled scope. */
function triesEnd(): Promise<void> {
  return CancellationScope.nonCancellable(() => condition(() => !isTrying()));
}

function whenTried<T>(then: () => Promise<T>): Promise<T> {
  return isTrying() ? triesEnd().then(then) : then();
}

/** Settles as `promise` does, but not while a local activity runs. */
async function afterTries<T>(promise: Promise<T>): Promise<T> {
  try {
    return await promise;
  } finally {
    if (isTrying()) await triesEnd();
  }
}

/** Makes the SDK use its flag `NonCancellableScopesAreShieldedFromPropagation`. */
function useShieldFlag(): void {
  const shield = new CancellationScope({ cancellable: false });
  shield.cancel();
  new CancellationScope({ cancellable: true, parent: shield });
}

/** The end of one task, and the schedule and the start of the next. */
const EVENTS_OF_TASK = 3;

type Command = ConcludeActivationInput['commands'][number];
type Job = NonNullable<ActivateInput['activation']['jobs']>[number];

/** Whether a job is the result of a local activity, which arrives within the same task and is no history event. */
function isLocalResult({ resolveActivity }: Job): boolean {
  return resolveActivity?.isLocal === true;
}

/** How many events commands leave in this task. Neither rejected updates nor started and canceled ones do. */
function eventsOf(commands: readonly Command[]): number {
  const begun = new Set(commands.map(begins));
  const canceled = new Set(commands.map(cancels));
  return commands.filter((command) => {
    if (command.updateResponse != null) return command.updateResponse.rejected == null;
    return (
      command.respondToQuery == null &&
      !isLocal(command) &&
      !canceled.has(begins(command)) &&
      !begun.has(cancels(command))
    );
  }).length;
}

function isLocal({ scheduleLocalActivity, requestCancelLocalActivity }: Command): boolean {
  return scheduleLocalActivity != null || requestCancelLocalActivity != null;
}

/** Whether a command must be the last one of its task. */
function isLast(command: Command): boolean {
  return (
    command.continueAsNewWorkflowExecution != null ||
    command.completeWorkflowExecution != null ||
    command.failWorkflowExecution != null ||
    command.cancelWorkflowExecution != null
  );
}

function begins({ startTimer, scheduleActivity }: Command): string | symbol {
  if (startTimer != null) return `timer ${String(startTimer.seq)}`;
  return scheduleActivity == null ? Symbol() : `activity ${String(scheduleActivity.seq)}`;
}

function cancels({ cancelTimer, requestCancelActivity }: Command): string | symbol {
  if (cancelTimer != null) return `timer ${String(cancelTimer.seq)}`;
  return requestCancelActivity == null ? Symbol() : `activity ${String(requestCancelActivity.seq)}`;
}

/** The command with the smallest event: removes a memo field that never existed. */
const NOTHING: Command = {
  modifyWorkflowProperties: {
    upsertedMemo: { fields: { nothing: defaultPayloadConverter.toPayload(undefined) } },
  },
};
