import { promotionAddress } from '../../domain/dashboard/addresses.ts';
import { SlipwayError } from '../../domain/errors.ts';
import type { InterventionKind } from '../../domain/intervention/intervention.ts';
import { standingOf, type StandingRequest } from '../../domain/intervention/standing.ts';
import type { PromotionRequest } from '../../domain/promotion/promotion.ts';
import type { PromotionInput } from '../../messages/workflowTypes.ts';
import {
  intervenePromotion,
  lastResult,
  viewPromotion,
} from '../../temporal/client/promotion/promotionClient.ts';
import { fetchFirstInput } from '../../temporal/history/fetchHistories.ts';
import type { PageContext } from '../pageContext.ts';
import { type ActionSubject, sendOnce } from './actionSubject.ts';
import { interventionOrder, UNASKED } from './interventionOrders.ts';
import type { Asking } from './offers.ts';

export async function promotionSubject(
  { temporal }: PageContext,
  workflowId: string,
  kind: InterventionKind,
  viewer: Asking,
): Promise<ActionSubject | undefined> {
  const [started, view] = await Promise.all([
    fetchFirstInput(temporal, workflowId),
    viewPromotion(temporal, workflowId),
  ]);
  const request = (started?.input as PromotionInput | undefined)?.request;
  if (started === undefined || request?.from === undefined) return undefined;
  const { runId } = started;
  const name = `the promotion ${request.name}`;
  const { from, to } = request;
  const serving = [`Promotes the verified artifact of ${from.name} to ${to.name}.`];
  const back = { address: promotionAddress(workflowId), name };
  const progress =
    view.state === 'running' ? (view.progress ?? UNASKED) : ({ ...UNASKED, outcome: 'aborted' } as const);
  const standing = standingOf(progress, promotionStanding(request));
  const order = interventionOrder({ name, progress, standing, serving }, kind, viewer);
  return {
    order: { ...order, carried: { run: runId } },
    back,
    send: async (fields, message, proverFor) => {
      if (fields['run'] !== runId)
        throw new SlipwayError('SLIPWAY_WRONG_MOMENT', `${name} has ended, and was started again since`, {
          hint: 'read what it promotes now, then decide again',
        });
      const prove = proverFor(request.store, request.approval);
      const said = { ...message, what: kind === 'skip' ? fields['what'] : undefined };
      return sendOnce({
        button: order.button,
        requestId: message.requestId,
        send: () => intervenePromotion(temporal, workflowId, kind, said, prove),
        ended: async () => (await lastResult(temporal, workflowId))?.interventions,
      });
    },
  };
}

/** The parts of a promotion's request that decide which interventions it accepts. */
export function promotionStanding({
  soakMs,
  freezes,
  approval,
  judge,
  requestedBy,
}: PromotionRequest): StandingRequest {
  const judged = judge !== undefined;
  return { called: 'promotion', checks: [], soakMs, freezes, approval, judged, requestedBy };
}
