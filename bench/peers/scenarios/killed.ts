import { summarize } from '../../statistics.ts';
import type { RequestMatch } from '../../standIn.ts';
import { placeOrder } from '../orders.ts';
import type { Findings, Scenario, Stage } from './scenario.ts';

const isPatch: RequestMatch = (method) => method === 'PATCH';
const isPoll: RequestMatch = (_method, path) => /\/revisions\/[^/]+$/.test(path);

/** Kills the worker with `kill -9` during a release's PATCH, and starts it again at once. */
export const killedInPatch: Scenario = {
  name: 'killed-in-patch',
  count: 5,
  needsEngine: true,
  measure: (stage) => measure(stage, isPatch),
};

/** The same during polling. */
export const killedInPoll: Scenario = {
  name: 'killed-in-poll',
  count: 5,
  needsEngine: true,
  measure: (stage) => measure(stage, isPoll),
};

/** How much longer a release takes than one without a kill. */
async function measure(
  { system: { peer }, standIn, count }: Stage,
  matches: RequestMatch,
): Promise<Findings> {
  const uninterrupted: number[] = [];
  const interrupted: number[] = [];
  await peer.release(placeOrder(standIn).order);
  for (let turn = 0; turn < count; turn++) {
    const { order } = placeOrder(standIn);
    uninterrupted.push(await timed(() => peer.release(order)));
  }
  standIn.requests.clear();
  const usual = summarize(uninterrupted);
  for (let turn = 0; turn < count; turn++) {
    const { order, deployment } = placeOrder(standIn);
    const held = deployment.hold(matches);
    const tookMs = await timed(async () => {
      const released = peer.release(order);
      // If the system loses the release, `released` fails at once, and the scenario with it.
      await Promise.race([held, released]);
      await peer.restartWorker();
      await released;
    });
    interrupted.push(tookMs - usual.medianMs);
  }
  const requests = Object.fromEntries(standIn.requests);
  const patches = requests['PATCH /v2/deployments/ID'] ?? 0;
  return {
    count,
    summary: summarize(interrupted),
    requests,
    killed: { uninterrupted: usual, repeated: patches - count },
  };
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await run();
  return performance.now() - from;
}
