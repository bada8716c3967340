import { setTimeout as delay } from 'node:timers/promises';

import { summarize, type Summary } from '../../statistics.ts';
import type { StandIn } from '../../standIn.ts';
import { costOf } from '../measured.ts';
import { placeOrder, type Placed } from '../orders.ts';
import type { Findings, Scenario, Stage } from './scenario.ts';

/** The limits for all PATCHes, for the watch, and for a rollback or a release meanwhile. */
const PATCHED_WITHIN_MS = 180_000;
const WATCH_MS = 30_000;
const LATE_MS = 75_000;
/** How many rollbacks and how many other releases run meanwhile. */
const IN_THEIR_MIDST = 5;

/** Many releases whose revisions never become ready, with a few rollbacks and other releases meanwhile. */
export const parked: Scenario = { name: 'parked', count: 1_000, measure };

async function measure({ system, standIn, count }: Stage): Promise<Findings> {
  await system.peer.release(placeOrder(standIn).order);
  standIn.requests.clear();
  const releases = Array.from({ length: count }, () => placeOrder(standIn, 'never ready'));
  const { took, ended } = await park(releases, ({ order }) => system.peer.release(order));
  // Only releases that have sent their PATCH; the others are not watched.
  const waiting = releases.filter((_, turn) => took[turn] !== undefined);
  const watch = new Watch(waiting);
  const before = await system.usage();
  await delay(WATCH_MS);
  const cost = costOf(before, await system.usage(), WATCH_MS / 1_000);
  const { polled, silence } = watch.end();
  const rollbacks: (number | undefined)[] = [];
  const others: (number | undefined)[] = [];
  for (let turn = 0; turn < Math.min(IN_THEIR_MIDST, waiting.length); turn++) {
    const placed = waiting[Math.floor((turn * waiting.length) / IN_THEIR_MIDST)];
    if (placed !== undefined)
      rollbacks.push(await rolledBack(placed, (order) => system.peer.rollBack(order)));
    others.push(await released(standIn, (order) => system.peer.release(order)));
  }
  const requests = Object.fromEntries(standIn.requests);
  // Nothing awaits the releases any more: their system is stopped.
  ended.catch(() => undefined);
  return {
    count,
    summary: summarize(took.filter((ms) => ms !== undefined)),
    requests,
    parked: {
      asked: count,
      patched: waiting.length,
      polled,
      silence,
      watchMs: WATCH_MS,
      ...cost,
      ...inTime('rollback', rollbacks),
      ...inTime('release', others),
      late: [...rollbacks, ...others].filter((ms) => ms === undefined).length,
    },
  };
}

/** Requests the releases. @returns when each had sent its PATCH, in milliseconds from the start. */
async function park(
  releases: readonly Placed[],
  release: (placed: Placed) => Promise<unknown>,
): Promise<{ readonly took: readonly (number | undefined)[]; readonly ended: Promise<unknown> }> {
  const from = performance.now();
  const took: (number | undefined)[] = releases.map(() => undefined);
  const patched = releases.map(async ({ deployment }, turn) => {
    took[turn] = (await deployment.next('patched')) - from;
  });
  const ended = Promise.all(releases.map(release));
  // A failed release fails the benchmark; an ended release did not wait.
  await Promise.race([Promise.all(patched), delay(PATCHED_WITHIN_MS), ended]);
  return { took: [...took], ended };
}

/** Records when releases are polled. */
class Watch {
  readonly #from = performance.now();
  readonly #polls: number[][];
  #over = false;

  constructor(releases: readonly Placed[]) {
    this.#polls = releases.map(() => []);
    releases.forEach(({ deployment }, turn) => void this.#follow(deployment, turn));
  }

  async #follow(deployment: Placed['deployment'], turn: number): Promise<void> {
    while (!this.#over) this.#polls[turn]?.push(await deployment.next('polled'));
  }

  end(): { readonly polled: number; readonly silence: Summary } {
    this.#over = true;
    const to = performance.now();
    const silences = this.#polls.map((polls) => {
      const moments = [this.#from, ...polls.filter((at) => at <= to), to];
      return Math.max(...moments.slice(1).map((at, index) => at - (moments[index] ?? at)));
    });
    return { polled: this.#polls.filter((polls) => polls.length > 0).length, silence: summarize(silences) };
  }
}

/** The time from a rollback request to its redeploy request; undefined if it did not come in time. */
async function rolledBack(
  { order, deployment }: Placed,
  rollBack: (order: Placed['order']) => Promise<void>,
): Promise<number | undefined> {
  const redeployed = deployment.next('redeploy');
  const from = performance.now();
  await rollBack(order);
  const at = await Promise.race([redeployed, delay(LATE_MS)]);
  return at === undefined ? undefined : at - from;
}

/** The duration of another release; undefined if it did not end in time. */
async function released(
  standIn: StandIn,
  release: (order: Placed['order']) => Promise<unknown>,
): Promise<number | undefined> {
  const { order } = placeOrder(standIn);
  const from = performance.now();
  const ended = release(order).then(() => performance.now() - from);
  ended.catch(() => undefined);
  return Promise.race([ended, delay(LATE_MS).then(() => undefined)]);
}

function inTime(name: 'rollback' | 'release', took: readonly (number | undefined)[]) {
  const known = took.filter((ms) => ms !== undefined);
  return known.length === 0 ? {} : { [name]: summarize(known) };
}
