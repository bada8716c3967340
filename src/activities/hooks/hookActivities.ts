import { Context } from '@temporalio/activity';
import {
  type Client,
  WithStartWorkflowOperation,
  WorkflowExecutionAlreadyStartedError,
  WorkflowNotFoundError,
} from '@temporalio/client';

import type { Actor } from '../../domain/actor.ts';
import { SlipwayError } from '../../domain/errors.ts';
import { frozenAt } from '../../domain/freeze/freeze.ts';
import type { HookHours, HookOrder } from '../../domain/hooks/hookEvent.ts';
import { NO_FACTS, targetFacts } from '../../domain/hooks/hookFacts.ts';
import { promotionWorkflowId } from '../../domain/promotion/promotion.ts';
import type { Progress } from '../../domain/release/release.ts';
import { SEARCH_ATTRIBUTES } from '../../domain/searchAttributes.ts';
import { INTERVENTION_UPDATES, progressQuery } from '../../messages/release.ts';
import {
  holdUpdate,
  rollbackUpdate,
  submitReleaseUpdate,
  targetStart,
  type TargetView,
  viewQuery,
} from '../../messages/target.ts';
import {
  type TargetWorkflow,
  WORKFLOW_TASK_TIMEOUT_MS,
  WORKFLOW_TYPES,
} from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { askTemporal } from '../askTemporal.ts';
import type { Untracked } from '../track.ts';

/** Sends a hook's orders to targets, with the same messages that people send. */
export function hookActivities(): Untracked<Pick<Activities, 'lookForHook' | 'carryOutOrder'>> {
  return {
    lookForHook: ({ workflowId, hours, at }) =>
      askTemporal(async (client) => {
        const view = await viewTarget(client, workflowId);
        const facts =
          view === undefined
            ? NO_FACTS
            : targetFacts(view.state, view.running, await progressOf(client, view.running));
        return { facts: { ...facts, needsApproval: hours !== undefined && isWithin(hours, at) } };
      }),

    carryOutOrder: ({ order, requestId, serving, by }) =>
      askTemporal(async (client) => {
        try {
          return { note: await carryOut(client, order, { requestId, serving, by }) };
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
          throw new SlipwayError(
            'SLIPWAY_TARGET_NEVER_RELEASED',
            `"${order.target}" has never taken a release`,
          );
        }
      }),
  };
}

/** The actor and the request id of an order. */
interface Asking {
  readonly requestId: string;
  readonly serving: string | undefined;
  readonly by: Actor;
}

/** @returns the target's answer. */
function carryOut(client: Client, order: HookOrder, asking: Asking): Promise<string> {
  switch (order.do) {
    case 'rollback':
      return rollBack(client, order, asking);
    case 'hold':
      return hold(client, order, asking);
    case 'abort':
      return abort(client, order, asking);
    case 'release':
      return release(client, order, asking);
    case 'promotion':
      return promote(client, order, asking);
  }
}

type OrderTo<Action extends HookOrder['do']> = Extract<HookOrder, { readonly do: Action }>;

async function rollBack(
  client: Client,
  { workflowId, hold: holds }: OrderTo<'rollback'>,
  { requestId, serving, by }: Asking,
): Promise<string> {
  const message = { ...by, requestId, serving, hold: holds };
  const target = client.workflow.getHandle(workflowId);
  const { disposition, reason } = await target.executeUpdate(rollbackUpdate, { args: [message] });
  return `${disposition}, ${reason}`;
}

async function hold(client: Client, { workflowId }: HookOrder, { requestId, by }: Asking): Promise<string> {
  const target = client.workflow.getHandle(workflowId);
  await target.executeUpdate(holdUpdate, { args: [{ ...by, requestId }], updateId: requestId });
  return 'the target is on hold';
}

async function abort(client: Client, { workflowId }: HookOrder, { requestId, by }: Asking): Promise<string> {
  const view = await viewTarget(client, workflowId);
  const running = view?.running ?? null;
  if (running === null) return 'no release runs';
  const { releaseId, kind } = running;
  if (kind === 'rollback') return `${releaseId} restores an earlier revision, which is not stopped`;
  try {
    const handle = client.workflow.getHandle(running.workflowId);
    const { note } = await handle.executeUpdate(INTERVENTION_UPDATES.abort, { args: [{ ...by, requestId }] });
    return `${releaseId}: ${note}`;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return `${releaseId} has just ended`;
    throw error;
  }
}

async function release(
  client: Client,
  { request }: OrderTo<'release'>,
  { requestId, by }: Asking,
): Promise<string> {
  const { target, recordStore } = request;
  const { releaseId, disposition, reason } = await client.workflow.executeUpdateWithStart(
    submitReleaseUpdate,
    {
      args: [{ ...request, requestedBy: by }],
      updateId: requestId,
      startWorkflowOperation: new WithStartWorkflowOperation<TargetWorkflow>(
        WORKFLOW_TYPES.target,
        targetStart(target, recordStore, Context.current().info.taskQueue),
      ),
    },
  );
  return `${releaseId} ${disposition.replaceAll('_', ' ')}, ${reason}`;
}

async function promote(client: Client, { request }: OrderTo<'promotion'>, { by }: Asking): Promise<string> {
  const { name, from, to } = request;
  try {
    await client.workflow.start(WORKFLOW_TYPES.promotion, {
      workflowId: promotionWorkflowId(request),
      taskQueue: Context.current().info.taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [{ request: { ...request, requestedBy: by } }],
      typedSearchAttributes: [
        { key: { name: SEARCH_ATTRIBUTES.target, type: 'KEYWORD' }, value: to.name },
        { key: { name: SEARCH_ATTRIBUTES.outcome, type: 'KEYWORD' }, value: 'running' },
      ],
      staticSummary: `promotion ${name}: ${from.name} to ${to.name}`,
    });
    return `the promotion ${name} has begun`;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return `the promotion ${name} is under way already`;
    throw error;
  }
}

/** `undefined`: the target has never taken a release. */
async function viewTarget(client: Client, workflowId: string): Promise<TargetView | undefined> {
  try {
    const view = await client.workflow.getHandle(workflowId).query(viewQuery);
    if (view.recovering === true) throw new Error('the target reads its earlier state');
    return view;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** `undefined`: no release runs, or it has just ended. */
async function progressOf(client: Client, running: TargetView['running']): Promise<Progress | undefined> {
  if (running === null) return undefined;
  try {
    return await client.workflow.getHandle(running.workflowId).query(progressQuery);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** Whether an instant lies within hours of the day or week. */
function isWithin({ from, until, timeZone }: HookHours, at: number): boolean {
  return frozenAt([{ name: 'approval', from, until, timeZone, then: 'wait' }], at) !== null;
}
