// How soon simultaneous release requests are accepted, and what each costs. bench/README.md says what is measured and
// what is not.
//
//   npx tsx --conditions=@slipway/source bench/submissions.ts [--count 200]
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { bundleWorkflows, startTemporal } from './engine.ts';
import { costOf } from './peers/measured.ts';
import { startScript } from './peers/processes.ts';
import { usageOf } from './peers/usage.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { type StandInDeployment, startStandIn } from './standIn.ts';
import { numbersOf, say, sayResult, summarize } from './statistics.ts';

const { count } = numbersOf({ count: 200 });
/** For what a target does after a release, in milliseconds. */
const REST_MS = 2_000;

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
const { address, namespace, taskQueue } = engine.temporal.settings;
const bundlePath = await bundleWorkflows(engine.folder);
const settings = { address, namespace, taskQueue, bundlePath, home: join(engine.folder, 'home') };
const worker = await startScript(new URL('./peers/slipway/worker.ts', import.meta.url), settings);
try {
  const artifact = await putArtifact(engine.folder);
  const place = (): StandInDeployment => services.deploy(`bench-${randomUUID()}`, 'answers rightly');
  await release(place(), 2);
  const deployments = Array.from({ length: count }, place);
  const first = await atOnce(deployments, 2);
  await delay(REST_MS);
  const again = await atOnce(deployments, 1);
  sayResult('submissions', { count, first, again });

  /** Requests a release on each deployment. @param checks - how many checks each release makes. */
  async function atOnce(on: readonly StandInDeployment[], checks: number) {
    const before = usageOf(process.pid, worker.pid ?? 0);
    const from = performance.now();
    const releases = await Promise.allSettled(on.map((deployment) => release(deployment, checks)));
    const tookMs = performance.now() - from;
    const cost = costOf(before, usageOf(process.pid, worker.pid ?? 0), count);
    const accepted = releases.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    for (const one of releases) if (one.status === 'rejected') say(String(one.reason));
    const summary = summarize(accepted);
    const { medianMs, p95Ms, maxMs } = summary;
    const perSecond = Math.round((accepted.length * 10_000) / tookMs) / 10;
    say(
      `${accepted.length} of ${count} accepted: median ${medianMs} ms, p95 ${p95Ms} ms, longest ${maxMs} ms`,
    );
    say(
      `${perSecond} done a second; CPU of each: worker ${cost.worker.cpuMs} ms, Temporal ${cost.server.cpuMs} ms`,
    );
    return { accepted: summary, refused: count - accepted.length, perSecond, cost };
  }

  /** Requests a release, and waits until its last check begins. @returns when it was accepted, in milliseconds. */
  async function release(deployment: StandInDeployment, checks: number): Promise<number> {
    let checked: Promise<unknown> = deployment.next('run began');
    for (let check = 1; check < checks; check++) checked = checked.then(() => deployment.next('run began'));
    const asked = performance.now();
    await submitRelease(engine.temporal, releaseRequest(services.url, deployment, artifact));
    const acceptedMs = performance.now() - asked;
    await checked;
    return acceptedMs;
  }
} finally {
  worker.kill('SIGKILL');
  await engine.close();
  await services.close();
}
