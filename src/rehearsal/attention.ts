import { setTimeout } from 'node:timers/promises';

import { Context, type Info } from '@temporalio/activity';
import type { Client } from '@temporalio/client';

import type { Activities } from '../activities/activities.ts';
import type { Progress } from '../domain/release/release.ts';
import { progressQuery } from '../messages/release.ts';
import { WORKFLOW_TYPES } from '../messages/workflowTypes.ts';
import { isOutOfTime } from '../temporal/client/temporalError.ts';
import type { SkippedTime } from '../temporal/server/testServer.ts';

/** One run of a workflow: its `workflowId` and `runId`. */
export type WorkflowExecution = NonNullable<Info['workflowExecution']>;

/** Called with the progress of a workflow that waits or has ended. The time is held meanwhile. */
type OnStop = (execution: WorkflowExecution, progress: Progress) => Promise<void>;

const LOOK_MS = 5;
const ATTENTIVE_TO: ReadonlySet<string> = new Set([WORKFLOW_TYPES.promotion, WORKFLOW_TYPES.release]);

/** Holds the time after each activity until its workflow has decided: a person's answer could come a day late. */
export class Attention {
  readonly #time: SkippedTime;
  readonly #client: Client;
  readonly #onStop: OnStop;
  readonly #onError: (error: unknown) => void;

  /** @param onError - called if following a workflow fails. */
  constructor(time: SkippedTime, client: Client, onStop: OnStop, onError: (error: unknown) => void) {
    this.#time = time;
    this.#client = client;
    this.#onStop = onStop;
    this.#onError = onError;
  }

  over(activities: Activities): Activities {
    const attended = Object.entries(activities).map(([name, work]) => [
      name,
      async (input: never) => {
        const result: unknown = await (work as (input: never) => Promise<unknown>)(input);
        const { activityId, workflowExecution, workflowType = '' } = Context.current().info;
        if (workflowExecution !== undefined && ATTENTIVE_TO.has(workflowType)) {
          await this.#time.hold();
          void this.#follow(workflowExecution, activityId).catch(this.#onError);
        }
        return result;
      },
    ]);
    return Object.fromEntries(attended) as Activities;
  }

  /** A query is answered after all recorded events, so it is enough to wait for the activity's end. */
  async #follow(execution: WorkflowExecution, activityId: string): Promise<void> {
    const handle = this.#client.workflow.getHandle(execution.workflowId, execution.runId);
    try {
      for (let isPending = true; isPending;) {
        await setTimeout(LOOK_MS);
        const { pendingActivities } = (await handle.describe()).raw;
        isPending = pendingActivities?.some((pending) => pending.activityId === activityId) ?? false;
      }
      const progress = await untilAnswered(this.#client, () => handle.query(progressQuery));
      if (progress.steps.every(({ status }) => status !== 'running')) {
        await this.#onStop(execution, progress);
      }
    } finally {
      await this.#time.release();
    }
  }
}

/** A worker in the same process answers in milliseconds. */
const PATIENCE_MS = 1_000;

/** Repeats a query without an answer, which the test server (1.38.0) sometimes loses. */
export async function untilAnswered<T>(client: Client, query: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await client.withDeadline(Date.now() + PATIENCE_MS, query);
    } catch (error) {
      if (!isOutOfTime(error)) throw error;
    }
  }
}
