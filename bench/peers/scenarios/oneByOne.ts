import { summarize } from '../../statistics.ts';
import type { StandIn } from '../../standIn.ts';
import type { HostedPeer } from '../hosted.ts';
import { costOf, rounded } from '../measured.ts';
import { placeOrder } from '../orders.ts';
import type { Order } from '../peer.ts';
import type { Scenario, Stage } from './scenario.ts';

const WARM_UP = 3;

/** One release after another on an idle machine; the first poll finds the revision deployed. */
export const idle: Scenario = { name: 'idle', count: 30, measure: (stage) => oneByOne(stage, 0) };

/** The same, but the revision is deployed after 2 s. */
export const slowDeploy: Scenario = {
  name: 'slow-deploy',
  count: 10,
  measure: (stage) => oneByOne(stage, 2_000),
};

/** Alternates releases with those of the bare script, so that the machine's load affects both alike. */
async function oneByOne({ system, bare, standIn, count }: Stage, deploysAfterMs: number) {
  for (let turn = 0; turn < WARM_UP; turn++) {
    await timed(system, standIn, 0);
    await timed(bare, standIn, 0);
  }
  const requests = new Map<string, number>();
  const [own, bares]: [number[], number[]] = [[], []];
  const before = await system.usage();
  let events = 0;
  for (let turn = 0; turn < count; turn++) {
    standIn.requests.clear();
    const { tookMs, order } = await timed(system, standIn, deploysAfterMs);
    own.push(tookMs);
    for (const [kind, number] of standIn.requests) requests.set(kind, (requests.get(kind) ?? 0) + number);
    if (bare !== system) bares.push((await timed(bare, standIn, deploysAfterMs)).tookMs);
    events = await system.peer.events(order);
  }
  const cost = costOf(before, await system.usage(), count);
  const summary = summarize(own);
  const found = { count, summary, events, requests: Object.fromEntries(requests), ...cost };
  if (bare === system) return found;
  const beside = summarize(bares);
  return { ...found, bare: beside, overBareMs: rounded(summary.medianMs - beside.medianMs) };
}

async function timed(
  { peer }: HostedPeer,
  standIn: StandIn,
  deploysAfterMs: number,
): Promise<{ readonly tookMs: number; readonly order: Order }> {
  const { order } = placeOrder(standIn, 'answers rightly', deploysAfterMs);
  const from = performance.now();
  const outcome = await peer.release(order);
  const tookMs = performance.now() - from;
  if (outcome !== 'released') throw new Error(`a release ended ${outcome}`);
  return { tookMs, order };
}
