import { setTimeout as delay } from 'node:timers/promises';

import { rounded, summarize } from '../../statistics.ts';
import { costOf } from '../measured.ts';
import { orderOn, placeOrder } from '../orders.ts';
import type { Order } from '../peer.ts';
import type { Findings, Scenario, Stage } from './scenario.ts';

const COUNT = 200;

/** Many releases requested at the same time, each on its own deployment. */
export const atOnce: Scenario = {
  name: 'at-once',
  count: COUNT,
  measure: async (stage) => {
    await stage.system.peer.release(placeOrder(stage.standIn).order);
    const orders = Array.from({ length: stage.count }, () => placeOrder(stage.standIn).order);
    return measure(stage, orders);
  },
};

/** For what a system does after a release, in milliseconds. */
const REST_MS = 2_000;

/** The same, on deployments that have had one release each. */
export const atOnceAgain: Scenario = {
  name: 'at-once-again',
  count: COUNT,
  measure: async (stage) => {
    const { standIn, system, count } = stage;
    const placed = Array.from({ length: count }, () => placeOrder(standIn));
    await Promise.all(placed.map(({ order }) => system.peer.release(order)));
    await delay(REST_MS);
    return measure(
      stage,
      placed.map(({ deployment }) => orderOn(standIn, deployment, true)),
    );
  },
};

async function measure({ system, standIn, count }: Stage, orders: readonly Order[]): Promise<Findings> {
  standIn.requests.clear();
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
