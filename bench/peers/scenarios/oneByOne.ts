import { rounded, summarize } from '../../statistics.ts';
import type { HostedPeer } from '../hosted.ts';
import { costOf } from '../measured.ts';
import { orderOn, placeOrder } from '../orders.ts';
import type { Order } from '../peer.ts';
import type { Findings, Scenario, Stage } from './scenario.ts';

const WARM_UP = 3;

/** One release after another on an idle machine; the first poll finds the revision deployed. */
export const idle: Scenario = {
  name: 'idle',
  count: 30,
  measure: (stage) => oneByOne(stage, () => () => placeOrder(stage.standIn).order),
};

/** The same, all releases of a system on one deployment. */
export const idleAgain: Scenario = {
  name: 'idle-again',
  count: 30,
  measure: (stage) =>
    oneByOne(stage, () => {
      const { deployment } = placeOrder(stage.standIn);
      let isVerified = false;
      return () => {
        const order = orderOn(stage.standIn, deployment, isVerified);
        isVerified = true;
        return order;
      };
    }),
};

/** As `idle`, but the revision is deployed after 2 s. */
export const slowDeploy: Scenario = {
  name: 'slow-deploy',
  count: 10,
  measure: (stage) => oneByOne(stage, () => () => placeOrder(stage.standIn, 'answers rightly', 2_000).order),
};

/**
 * Alternates releases with those of the bare script, so that the machine's load affects both alike.
 * @param series - called for each system, whose orders its result places.
 */
async function oneByOne(
  { system, bare, standIn, count }: Stage,
  series: () => () => Order,
): Promise<Findings> {
  const next = series();
  const nextOfBare = series();
  for (let turn = 0; turn < WARM_UP; turn++) {
    await timed(system, next());
    await timed(bare, nextOfBare());
  }
  const requests = new Map<string, number>();
  const [own, bares]: [number[], number[]] = [[], []];
  const before = await system.usage();
  let events = 0;
  for (let turn = 0; turn < count; turn++) {
    standIn.requests.clear();
    const order = next();
    own.push(await timed(system, order));
    for (const [kind, number] of standIn.requests) requests.set(kind, (requests.get(kind) ?? 0) + number);
    if (bare !== system) bares.push(await timed(bare, nextOfBare()));
    events = await system.peer.events(order);
  }
  const cost = costOf(before, await system.usage(), count);
  const summary = summarize(own);
  const found = { count, summary, events, requests: Object.fromEntries(requests), ...cost };
  if (bare === system) return found;
  const beside = summarize(bares);
  return { ...found, bare: beside, overBareMs: rounded(summary.medianMs - beside.medianMs) };
}

async function timed({ peer }: HostedPeer, order: Order): Promise<number> {
  const from = performance.now();
  const outcome = await peer.release(order);
  const tookMs = performance.now() - from;
  if (outcome !== 'released') throw new Error(`a release ended ${outcome}`);
  return tookMs;
}
