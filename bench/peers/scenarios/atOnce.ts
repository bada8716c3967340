import { summarize } from '../../statistics.ts';
import { costOf, rounded } from '../measured.ts';
import { placeOrder } from '../orders.ts';
import type { Findings, Scenario, Stage } from './scenario.ts';

/** Many releases requested at the same time, each on its own deployment. */
export const atOnce: Scenario = { name: 'at-once', count: 200, measure };

async function measure({ system, standIn, count }: Stage): Promise<Findings> {
  await system.peer.release(placeOrder(standIn).order);
  standIn.requests.clear();
  const orders = Array.from({ length: count }, () => placeOrder(standIn).order);
  const before = await system.usage();
  const from = performance.now();
  const took = await Promise.all(
    orders.map(async (order) => {
      await system.peer.release(order);
      return performance.now() - from;
    }),
  );
  const perSecond = rounded((count * 1_000) / (performance.now() - from));
  const cost = costOf(before, await system.usage(), count);
  const requests = Object.fromEntries(standIn.requests);
  return { count, summary: summarize(took), perSecond, requests, ...cost };
}
