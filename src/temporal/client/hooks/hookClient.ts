import { createHash, randomUUID } from 'node:crypto';

import {
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
} from '@temporalio/client';
import type { QueryDefinition } from '@temporalio/common';

import type { HookConfig } from '../../../config/hookSchema.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { HookDelivery } from '../../../domain/hooks/hookEvent.ts';
import type { HookAnswer } from '../../../domain/hooks/takeDelivery.ts';
import { type AnswerHookMessage, answerHookUpdate, deliverEventsUpdate } from '../../../messages/hooks.ts';
import {
  type HookWorkflow,
  ID_PREFIXES,
  WORKFLOW_TASK_TIMEOUT_MS,
  WORKFLOW_TYPES,
} from '../../../messages/workflowTypes.ts';
import { ASK_TIMEOUT_MS, refusal } from '../ask.ts';
import type { TemporalConnection } from '../connection.ts';
import { listRunning } from '../listRunning.ts';
import { isOutOfTime, isUntaken, isWorkerSilent, temporalError } from '../temporalError.ts';
import { noWorker, requireWorker, whyNoAnswer } from '../workerPresence.ts';

export interface HookPlace {
  readonly name: string;
  readonly workflowId: string;
  /** The workflow ids of the targets that its rules may control, by target name. */
  readonly targets: ReadonlyMap<string, string>;
}

/** A hook of `slipway.yaml`. */
export interface ListeningHook extends HookPlace {
  readonly config: HookConfig;
  /** The target that each promotion in its rules releases to, by promotion. */
  readonly promotions: ReadonlyMap<string, string>;
}

/**
 * The workflow id of a hook: hooks of one name in two repositories are two. One that may ask other targets than before is
 * another hook, without events.
 * @param targets - the workflow ids of the targets that its rules may ask.
 */
export function hookWorkflowId(name: string, targets: readonly string[]): string {
  const identity = [...new Set(targets)].sort().join('\n');
  return `${ID_PREFIXES.hook}${name}:${createHash('sha256').update(identity).digest('hex').slice(0, IDENTITY_CHARACTERS)}`;
}

const IDENTITY_CHARACTERS = 12;
/** How long a listener waits for a worker, and then finds out why none answered, in milliseconds: senders give up after 10 s. */
const DELIVERY_TIMEOUT_MS = 8_000;
const WHY_TIMEOUT_MS = 1_000;

/**
 * Sends events to a hook's workflow, and starts the workflow if it does not run. Once this returns, the events are stored.
 * @throws SlipwayError SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE: the caller may send the same events again, since
 * each counts once.
 */
export async function deliverEvents(
  temporal: TemporalConnection,
  { name, workflowId, targets }: HookPlace,
  delivery: HookDelivery,
): Promise<readonly HookAnswer[]> {
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + DELIVERY_TIMEOUT_MS, () =>
      client.workflow.executeUpdateWithStart(deliverEventsUpdate, {
        args: [delivery],
        updateId: randomUUID(),
        startWorkflowOperation: new WithStartWorkflowOperation<HookWorkflow>(WORKFLOW_TYPES.hook, {
          workflowId,
          taskQueue: settings.taskQueue,
          workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
          workflowIdConflictPolicy: 'USE_EXISTING',
          args: [{ name }],
          memo: { targets: [...targets.values()] },
          staticSummary: `hook ${name}`,
        }),
      }),
    );
  } catch (error) {
    if (isUntaken(error))
      throw await client.withAbortSignal(AbortSignal.timeout(WHY_TIMEOUT_MS), () =>
        untaken(temporal, workflowId, ACCEPTED, error),
      );
    throw refusal(error) ?? temporalError(error, settings);
  }
}

/** Why no worker has done what a hook was asked for. A person may have pinned the hook to a version without workers. */
async function untaken(
  temporal: TemporalConnection,
  workflowId: string,
  what: string,
  cause: unknown,
): Promise<SlipwayError> {
  const why = await whyNoAnswer(temporal, workflowId);
  return why ?? noWorker(temporal.settings, `no worker ${what}`, cause);
}

/** The state of a hook, or its events; `undefined`: it has received none. */
export async function viewHook<T>(
  temporal: TemporalConnection,
  { workflowId }: Pick<HookPlace, 'workflowId'>,
  query: QueryDefinition<T>,
): Promise<T | undefined> {
  await requireWorker(temporal);
  const { client, settings } = temporal;
  try {
    return await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).query(query),
    );
  } catch (error) {
    if (hasNothing(error)) return undefined;
    if (isWorkerSilent(error) || isOutOfTime(error))
      throw await untaken(temporal, workflowId, ANSWERED, error);
    throw temporalError(error, settings);
  }
}

const ACCEPTED = `accepted the event within ${DELIVERY_TIMEOUT_MS / 1_000} s`;
const ANSWERED = `answered for the hook within ${ASK_TIMEOUT_MS / 1_000} s`;

/** `QueryNotRegisteredError`: the first workflow task of the hook is still to come. */
function hasNothing(error: unknown): boolean {
  return error instanceof WorkflowNotFoundError || error instanceof QueryNotRegisteredError;
}

/**
 * Approves or rejects what waits for approval of an event. Sent again with the same request id, it is one answer.
 * @throws SlipwayError SLIPWAY_WRONG_MOMENT if nothing waits for it; SLIPWAY_NO_WORKER, SLIPWAY_TEMPORAL_UNREACHABLE.
 */
export async function answerHook(
  temporal: TemporalConnection,
  { workflowId }: Pick<HookPlace, 'workflowId'>,
  { requestId = randomUUID(), ...message }: AnswerHookMessage,
): Promise<void> {
  const { client, settings } = temporal;
  try {
    await requireWorker(temporal);
    await client.withDeadline(Date.now() + ASK_TIMEOUT_MS, () =>
      client.workflow.getHandle(workflowId).executeUpdate(answerHookUpdate, {
        args: [{ ...message, requestId }],
        updateId: requestId,
      }),
    );
  } catch (error) {
    if (error instanceof WorkflowNotFoundError)
      throw new SlipwayError('SLIPWAY_WRONG_MOMENT', 'the hook has received no events yet');
    if (isUntaken(error)) throw await untaken(temporal, workflowId, ANSWERED, error);
    throw refusal(error) ?? temporalError(error, settings);
  }
}

export interface ListedHook {
  readonly name: string;
  readonly workflowId: string;
  readonly targets: readonly string[];
}

/** The running hooks. Temporal's list is up to a few seconds late. Needs no worker. */
export function listHooks(temporal: TemporalConnection): Promise<readonly ListedHook[]> {
  return listRunning(temporal, WORKFLOW_TYPES.hook, ({ workflowId, memo }) => {
    const targets = memo?.['targets'];
    // `hook:NAME:DIGEST`
    const [, name = workflowId] = workflowId.split(':');
    return Array.isArray(targets) ? { name, workflowId, targets } : undefined;
  });
}
