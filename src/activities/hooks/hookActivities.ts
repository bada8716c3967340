import { Context } from '@temporalio/activity';
import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';

import type { Actor } from '../../domain/actor.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { HookSubject } from '../../domain/hooks/decide.ts';
import { hookFacts, type HookOrder } from '../../domain/hooks/hookEvent.ts';
import type { HookEffect } from '../../domain/hooks/hookState.ts';
import type { Progress } from '../../domain/release/release.ts';
import { isRecord } from '../../domain/scalars.ts';
import { INTERVENTION_UPDATES, progressQuery } from '../../messages/release.ts';
import { type HoldMessage, holdUpdate, type TargetView } from '../../messages/target.ts';
import { promotionStart } from '../../messages/promotion.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { Activities } from '../activities.ts';
import { askTemporal, ifThere } from '../askTemporal.ts';
import { knownBefore, reportProgress } from '../heartbeat.ts';
import { askForRollback, submitToTarget, updateTarget, viewTarget } from '../target/targetCalls.ts';
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

    carryOutOrder: ({ order, ...asking }) =>
      askTemporal(async (client) => {
        try {
          return await carryOut(client, order, asking);
        } catch (error) {
          if (!(error instanceof WorkflowNotFoundError)) throw error;
          throw new SlipwayError(
            'SLIPWAY_TARGET_NEVER_RELEASED',
            `Temporal has no target "${order.target}": it has never taken a release, or was deleted`,
            { hint: `see which: slipway status ${order.target}` },
          );
        }
      }),
  };
}

/** The actor and the request id of an order, and what it is about. */
interface Asking extends HookSubject {
  readonly requestId: string;
  readonly by: Actor;
}

function carriedOut(note: string): HookEffect {
  return { state: 'carried_out', note };
}

function notMet(note: string): HookEffect {
  return { state: 'not_met', note };
}

function carryOut(client: Client, order: HookOrder, asking: Asking): Promise<HookEffect> {
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
  { workflowId, hold: holds, kept }: OrderTo<'rollback'>,
  { requestId, serving, by }: Asking,
): Promise<HookEffect> {
  const message = { ...by, requestId, serving, hold: holds, ifServing: true } as const;
  const { disposition, reason } = await askForRollback(client, workflowId, message, kept);
  const isDone = disposition !== 'ignored' && disposition !== 'done';
  return (isDone ? carriedOut : notMet)(`${disposition}, ${reason}`);
}

async function hold(
  client: Client,
  { workflowId, kept }: OrderTo<'hold'>,
  { requestId, by }: Asking,
): Promise<HookEffect> {
  const args: [HoldMessage] = [{ ...by, requestId }];
  await updateTarget(client, workflowId, holdUpdate, { args, updateId: requestId }, kept);
  return carriedOut('the target is on hold');
}

async function abort(
  client: Client,
  { workflowId }: HookOrder,
  { requestId, running: meant, by }: Asking,
): Promise<HookEffect> {
  const releaseId = askedBefore() ?? (await toAbort(client, workflowId, meant));
  if (typeof releaseId !== 'string') return releaseId;
  // If this worker dies now, the next attempt asks the same release again.
  reportProgress(`aborts ${releaseId}`, { releaseId });
  const answer = await ifThere(
    client.workflow.getHandle(`${workflowId}/${releaseId}`).executeUpdate(INTERVENTION_UPDATES.abort, {
      args: [{ ...by, requestId }],
      // With it, Temporal repeats its answer, even if the release has ended.
      updateId: requestId,
    }),
  );
  return answer === undefined
    ? notMet(`${releaseId} has just ended`)
    : carriedOut(`${releaseId}: ${answer.note}`);
}

/** The release that the order means; its effect if there is none. */
async function toAbort(
  client: Client,
  workflowId: string,
  meant: string | undefined,
): Promise<string | HookEffect> {
  const running = (await viewTarget(client, workflowId))?.running ?? null;
  if (running === null) return notMet('no release runs');
  const { releaseId, kind } = running;
  if (meant !== undefined && meant !== releaseId) return notMet(`${meant} does not run any more`);
  if (kind === 'rollback') return notMet(`${releaseId} restores an earlier revision, which is not stopped`);
  const started = await ifThere(client.workflow.getHandle(running.workflowId).describe());
  // A later attempt, or a late one, is meant for what ran when the rule acted. Temporal may be starting it only now.
  if (started === undefined || started.startTime.getTime() > Context.current().info.scheduledTimestampMs)
    return notMet(`${releaseId} began after the rule had acted`);
  return releaseId;
}

/** The release that an earlier attempt asked to abort; `undefined`: none. */
function askedBefore(): string | undefined {
  const known = knownBefore();
  return isRecord(known) && typeof known['releaseId'] === 'string' ? known['releaseId'] : undefined;
}

async function release(
  client: Client,
  { request }: OrderTo<'release'>,
  { requestId, by }: Asking,
): Promise<HookEffect> {
  const { releaseId, disposition, reason } = await submitToTarget(
    client,
    { ...request, requestedBy: by },
    requestId,
  );
  const isTaken = disposition === 'queued' || disposition === 'joined';
  return (isTaken ? carriedOut : notMet)(`${releaseId} ${disposition.replaceAll('_', ' ')}, ${reason}`);
}

async function promote(
  client: Client,
  { request }: OrderTo<'promotion'>,
  { by }: Asking,
): Promise<HookEffect> {
  const { name } = request;
  const { taskQueue, scheduledTimestampMs } = Context.current().info;
  const start = promotionStart({ ...request, requestedBy: by }, taskQueue);
  // An earlier attempt may have started it, and it may have ended since.
  const last = await ifThere(client.workflow.getHandle(start.workflowId).describe());
  const isStarted = last !== undefined && last.startTime.getTime() >= scheduledTimestampMs;
  try {
    if (!isStarted) await client.workflow.start(WORKFLOW_TYPES.promotion, start);
    return carriedOut(`the promotion ${name} has begun`);
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError)
      return notMet(`the promotion ${name} is already running`);
    throw error;
  }
}

/** `undefined`: no release runs, or it has just ended. */
async function progressOf(client: Client, running: TargetView['running']): Promise<Progress | undefined> {
  if (running === null) return undefined;
  return ifThere(client.workflow.getHandle(running.workflowId).query(progressQuery));
}
