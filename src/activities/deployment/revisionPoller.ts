import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';

import { Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';

import { ServiceError } from '../../clients/serviceError.ts';
import { revisionPhase } from '../../domain/deployment/revision.ts';
import type { TargetSpec } from '../../domain/target/targetSpec.ts';
import {
  awaitRevisionSignal,
  revisionStatusSignal,
  UNREADABLE,
  type WaitingRevision,
  waitingKey,
} from '../../messages/revisionPoller.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { isRetryable, notYet } from '../activityFailure.ts';
import { askTemporal } from '../askTemporal.ts';
import { callOptions } from '../callOptions.ts';
import type { DeploymentsClient } from '../connections.ts';
import type { Pause } from '../polling.ts';
import type { Untracked } from '../track.ts';

/** How long one attempt polls. Then the workflow puts together what still waits. */
const ATTEMPT_MS = 5 * 60_000;
/** Between two looks at one revision: a tenth of the time that it has been waited for, within these bounds. */
const SHARE_OF_AGE = 0.1;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;
/** Between two requests to one control plane: 200 a second, however many wait there. */
const APART_MS = 5;
/** How long a control plane that fails is left alone, if it does not say. */
const REST_MS = 2_000;
/** After a worker that ends has handed its polls over. */
const HAND_OVER_MS = 200;

/**
 * Leaves a revision to the poller of its control plane, which is started where there is none. For the workflow whose
 * activity calls.
 *
 * @param taskQueue - the workflows'.
 */
export async function leaveToPoller(
  target: TargetSpec,
  taskQueue: string,
  revision: Omit<WaitingRevision, 'workflowId'>,
): Promise<void> {
  const workflowId = Context.current().info.workflowExecution?.workflowId;
  if (workflowId === undefined) throw new Error('an activity without a workflow');
  await askTemporal((client) =>
    client.workflow.signalWithStart(WORKFLOW_TYPES.revisionPoller, {
      workflowId: revisionPollerId(target, taskQueue),
      taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [{ target }],
      signal: awaitRevisionSignal,
      signalArgs: [{ workflowId, ...revision }],
      staticSummary: `polls ${target.controlPlane} for all that wait there`,
    }),
  );
}

/** The poller's workflow: one for each control plane, key and tenant, which say who may read a revision. */
export function revisionPollerId(
  { controlPlane, vocabulary, apiKey, tenantId }: TargetSpec,
  taskQueue: string,
): string {
  const caller = JSON.stringify([controlPlane, vocabulary, apiKey, tenantId, taskQueue]);
  return `revision-poller:${createHash('sha256').update(caller).digest('hex').slice(0, 16)}`;
}

/** Polls a control plane for all that wait there. */
export function revisionPollerActivities(
  outside: { readonly controlPlane: (target: TargetSpec) => Pick<DeploymentsClient, 'getRevision'> },
  pause: Pause,
  shuttingDown: AbortSignal,
): Untracked<Pick<Activities, 'pollRevisions'>> {
  /** By control plane: when the next request may be sent, in milliseconds since 1970. */
  const free = new Map<string, number>();
  const awaitTurn = async (controlPlane: string): Promise<void> => {
    const at = Math.max(free.get(controlPlane) ?? 0, Date.now());
    free.set(controlPlane, at + APART_MS);
    await pause(at - Date.now());
  };
  return {
    pollRevisions: async ({ target, waiting }) => {
      const { controlPlane } = target;
      const client = outside.controlPlane(target);
      const endsAt = Date.now() + ATTEMPT_MS;
      // Each revision has a pause of its own.
      setMaxListeners(0, Context.current().cancellationSignal);
      /** @returns the status; {@link UNREADABLE} where the workflow that waits will find out by itself why. */
      const read = async ({ deploymentId, revisionId }: WaitingRevision, last: string): Promise<string> => {
        await awaitTurn(controlPlane);
        try {
          return (await client.getRevision(deploymentId, revisionId, callOptions())).status;
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          if (!isRetryable(error.code)) return UNREADABLE;
          free.set(controlPlane, Date.now() + (error.retryAfterMs ?? REST_MS));
          return last;
        }
      };
      /** @returns its key, if nobody waits for it any more. */
      const poll = async (revision: WaitingRevision): Promise<readonly string[]> => {
        let { status } = revision;
        for (;;) {
          await pause(pauseAfter(Date.now() - revision.since));
          if (shuttingDown.aborted) throw notYet('SLIPWAY_STEP_TIMED_OUT', 'the worker ends', HAND_OVER_MS);
          if (Date.now() >= endsAt) return [];
          const seen = await read(revision, status);
          if (seen !== status && (await report(revision, seen))) status = seen;
          if (isSettled(status) || Date.now() >= revision.until) return [waitingKey(revision)];
        }
      };
      return { settled: (await Promise.all(waiting.map(poll))).flat() };
    },
  };
}

function pauseAfter(ageMs: number): number {
  return Math.min(Math.max(ageMs * SHARE_OF_AGE, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
}

function isSettled(status: string): boolean {
  return status === UNREADABLE || revisionPhase(status) !== 'pending';
}

/** @returns whether the workflow that waits has it, or is no more. Else it is reported again after the next look. */
async function report({ workflowId, revisionId }: WaitingRevision, status: string): Promise<boolean> {
  try {
    const handle = Context.current().client.workflow.getHandle(workflowId);
    await handle.signal(revisionStatusSignal, { revisionId, status });
    return true;
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}
