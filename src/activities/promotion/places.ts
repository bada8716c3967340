import { Context } from '@temporalio/activity';

import type { PlaceRules } from '../../domain/promotion/places.ts';
import { enterPlaceSignal, leavePlaceSignal, placeQuery } from '../../messages/promotion.ts';
import { WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPES } from '../../messages/workflowTypes.ts';
import { notYet } from '../activityFailure.ts';
import { askTemporal, ifThere } from '../askTemporal.ts';
import { callingWorkflow } from '../callingWorkflow.ts';

/** A promotion's place among those that work at once. */
export interface Place {
  /** Takes a place for the calling promotion, or ends the attempt as "not yet", which holds no slot meanwhile. */
  take(): Promise<void>;
  /**
   * Reports that the place is still needed, or returns it while it is not. Call it at least every minute.
   * @param isNeeded - default: it is.
   */
  keep(isNeeded?: () => Promise<boolean>): Promise<void>;
  leave(): Promise<void>;
}

/** The shortest time between two such reports, in milliseconds. */
const KEEP_EVERY_MS = 30_000;
const ASK_AGAIN_MS = 2_000;
const ASK_AGAIN_PER_PLACE_MS = 1_000;
const ASK_AGAIN_MOST_MS = 30_000;
/** Spreads the requests of several promotions over this time. */
const ASK_AGAIN_SPREAD_MS = 1_000;

/** Places under the given rules. The workflow `promotionPlaces` of the workflows' task queue grants them. */
export function placesOf(rules: PlaceRules, taskQueue: string): Place {
  if (rules.atOnce === 0 && rules.apartMs === 0) return EVERYBODY_AT_ONCE;
  const placesId = `promotion-places:${taskQueue}`;
  const keptAt = new Map<string, number>();
  const enter = async (): Promise<void> => {
    const { client } = Context.current();
    keptAt.set(holder(), Date.now());
    await client.workflow.signalWithStart(WORKFLOW_TYPES.promotionPlaces, {
      workflowId: placesId,
      taskQueue,
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      args: [],
      signal: enterPlaceSignal,
      signalArgs: [holder(), rules],
      workflowIdConflictPolicy: 'USE_EXISTING',
      staticSummary: 'the slots of promotions',
    });
  };
  // Previews ask targets for the same, and take no place.
  const forPromotions =
    <Args extends readonly unknown[]>(ask: (...args: Args) => Promise<void>) =>
    async (...args: Args): Promise<void> => {
      if (Context.current().info.workflowType === WORKFLOW_TYPES.promotion) await ask(...args);
    };
  const leave = (): Promise<void> =>
    askTemporal(async (client) => {
      keptAt.delete(holder());
      // If the workflow has ended, so has the place.
      await ifThere(client.workflow.getHandle(placesId).signal(leavePlaceSignal, holder()));
    });
  return {
    take: forPromotions(() =>
      askTemporal(async () => {
        await enter();
        const { client } = Context.current();
        const found = await client.workflow.getHandle(placesId).query(placeQuery, holder());
        if (found.state === 'has') return;
        const ahead = found.state === 'waits' ? found.ahead : 0;
        const wait = Math.min(ASK_AGAIN_MS + ahead * ASK_AGAIN_PER_PLACE_MS, ASK_AGAIN_MOST_MS);
        const others = `${ahead} other ${ahead === 1 ? 'promotion' : 'promotions'}`;
        const spread = Math.random() * ASK_AGAIN_SPREAD_MS;
        throw notYet('SLIPWAY_STEP_TIMED_OUT', `waits for its turn behind ${others}`, wait + spread);
      }),
    ),
    keep: forPromotions(async (isNeeded?: () => Promise<boolean>) => {
      if (isNeeded !== undefined && !(await isNeeded())) {
        // A place that another worker took expires.
        if (keptAt.has(holder())) await leave();
      } else if (Date.now() - (keptAt.get(holder()) ?? 0) >= KEEP_EVERY_MS) await askTemporal(enter);
    }),
    leave: forPromotions(leave),
  };
}

/** The place if nothing is limited. */
export const EVERYBODY_AT_ONCE: Place = {
  take: () => Promise.resolve(),
  keep: () => Promise.resolve(),
  leave: () => Promise.resolve(),
};

function holder(): string {
  const { workflowId, runId } = callingWorkflow();
  return `${workflowId} ${runId}`;
}
