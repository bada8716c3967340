import { promotionAddress } from '../../domain/dashboard/addresses.ts';
import { onSlipwayError } from '../../domain/errors.ts';
import { WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import type { TemporalConnection } from '../../temporal/client/connection.ts';
import { listRunning } from '../../temporal/client/listRunning.ts';
import {
  type ListedPromotion,
  type ListedPromotions,
  readPromotion,
} from '../../temporal/client/promotion/promotionClient.ts';
import type { Viewer } from '../access/session.ts';
import { PromotionActions } from '../actions/actionLinks.tsx';
import { Chip } from '../page/marks.tsx';
import { inNameOrder } from '../page/nameOrder.ts';
import { Wait } from '../releases/underWay.tsx';
import { promotionHeadline } from './promotionsPage.tsx';

/** The running promotions of the namespace: far fewer calls than for all. Leaves out those whose payload key is missing. */
export async function runningPromotions(temporal: TemporalConnection): Promise<ListedPromotions> {
  const ids = await listRunning(temporal, WORKFLOW_TYPES.promotion, ({ workflowId }) => workflowId);
  const read = (id: string): Promise<ListedPromotion | undefined> =>
    readPromotion(temporal, id, []).catch(onSlipwayError(() => undefined, 'SLIPWAY_PAYLOAD_KEY_MISSING'));
  const found = await Promise.all(ids.map(read));
  return { promotions: found.flatMap((promotion) => promotion ?? []), sealed: new Map() };
}

/** The promotions that wait for a person, by name. */
export function waitingPromotions(promotions: readonly ListedPromotion[]): readonly ListedPromotion[] {
  const waiting = promotions.filter(({ view }) => {
    const waitsFor = view.state === 'running' ? view.progress?.waiting?.for : undefined;
    return waitsFor !== undefined && waitsFor !== 'freeze';
  });
  return inNameOrder(waiting, ({ request }) => request.name);
}

/** A card for each promotion that waits for a person. Its target may have no card, because it never took a release. */
export function WaitingPromotions({
  promotions,
  viewer,
  now,
}: {
  readonly promotions: readonly ListedPromotion[];
  readonly viewer: Viewer;
  readonly now: number;
}) {
  return (
    <div id="waiting" class="cards">
      {promotions.map((promotion) => {
        const { workflowId, request, view } = promotion;
        const { tone, words } = promotionHeadline(promotion, now);
        return (
          <article class={`card ${tone}`} aria-label={request.name}>
            <header>
              <h2>
                <a href={promotionAddress(workflowId)}>{request.name}</a>
              </h2>
              <Chip tone={tone}>{words}</Chip>
            </header>
            <p class="place quiet">{`promotion from ${request.from.name} to ${request.to.name}`}</p>
            <Wait progress={view.state === 'running' ? view.progress : undefined} viewer={viewer} />
            <PromotionActions promotion={promotion} viewer={viewer} />
          </article>
        );
      })}
    </div>
  );
}
