import { Context } from '@temporalio/activity';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';

import type { Actor } from '../../domain/actor.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { HookOrder } from '../../domain/hooks/hookEvent.ts';
import { hookFacts } from '../../domain/hooks/hookFacts.ts';
import type { Progress } from '../../domain/release/release.ts';
import { INTERVENTION_UPDATES, progressQuery } from '../../messages/release.ts';
import { holdUpdate, rollbackUpdate, type TargetView } from '../../messages/target.ts';
import { promotionStart } from '../../messages/promotion.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { askTemporal } from '../askTemporal.ts';
import { submitToTarget, viewTarget } from '../target/targetCalls.ts';
import type { Untracked } from '../track.ts';

/** Sends a hook's orders to targets, with the same messages that people send. */
export function hookActivities(): Untracked<Pick<Activities, 'lookForHook' | 'carryOutOrder'>> {
  return {
    lookForHook: ({ workflowId, hours, at }) =>
      askTemporal(async (client) => {
        const view = await viewTarget(client, workflowId);
        const progress = await progressOf(client, view?.running ?? null);
        const facts = hookFacts(view, progress, hours, at);
        const last = facts.needsApproval ? view?.state.lastRequest : null;
        return { facts, recipients: last == null ? undefined : { notify: last.notify, steps: last.steps } };
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
  const { releaseId, disposition, reason } = await submitToTarget(
    client,
    { ...request, requestedBy: by },
    requestId,
  );
  return `${releaseId} ${disposition.replaceAll('_', ' ')}, ${reason}`;
}

async function promote(client: Client, { request }: OrderTo<'promotion'>, { by }: Asking): Promise<string> {
  const { name } = request;
  try {
    const asked = { ...request, requestedBy: by };
    await client.workflow.start(
      WORKFLOW_TYPES.promotion,
      promotionStart(asked, Context.current().info.taskQueue),
    );
    return `the promotion ${name} has begun`;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return `the promotion ${name} is already running`;
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
