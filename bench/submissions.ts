// How soon simultaneous release requests are accepted, and what each costs. bench/README.md says what is measured and
// what is not.
//
//   npx tsx --conditions=@slipway/source bench/submissions.ts [--count 200]
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { bundleWorkflows, startTemporal } from './engine.ts';
import { costOf } from './peers/measured.ts';
import { startScript } from './peers/processes.ts';
import { usageOf } from './peers/usage.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { startStandIn } from './standIn.ts';
import { machine, summarize } from './statistics.ts';

const { values } = parseArgs({ options: { count: { type: 'string', default: '200' } } });
const count = Number(values.count);

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
const { address, namespace, taskQueue } = engine.temporal.settings;
const bundlePath = await bundleWorkflows(engine.folder);
const settings = { address, namespace, taskQueue, bundlePath, home: join(engine.folder, 'home') };
const worker = await startScript(new URL('./peers/slipway/worker.ts', import.meta.url), settings);
try {
  const artifact = await putArtifact(engine.folder);
  await releaseOnce();
  const before = usageOf(process.pid, worker.pid ?? 0);
  const from = performance.now();
  const releases = await Promise.allSettled(Array.from({ length: count }, releaseOnce));
  const tookMs = performance.now() - from;
  const cost = costOf(before, usageOf(process.pid, worker.pid ?? 0), count);
  const accepted = releases.flatMap((release) => (release.status === 'fulfilled' ? [release.value] : []));
  for (const release of releases) if (release.status === 'rejected') say(String(release.reason));
  const { medianMs, p95Ms, maxMs } = summarize(accepted);
  const perSecond = Math.round((accepted.length * 10_000) / tookMs) / 10;
  say(`${accepted.length} of ${count} accepted: median ${medianMs} ms, p95 ${p95Ms} ms, longest ${maxMs} ms`);
  say(
    `${perSecond} done a second; CPU of each: worker ${cost.worker.cpuMs} ms, Temporal ${cost.server.cpuMs} ms`,
  );
  const figures = { count, accepted: summarize(accepted), refused: count - accepted.length, perSecond, cost };
  say(JSON.stringify({ benchmark: 'submissions', ...figures, machine: machine() }));

  /** Requests a release, and waits until its last check, the second, begins. @returns when it was accepted, in milliseconds. */
  async function releaseOnce(): Promise<number> {
    const deployment = services.deploy(`bench-${randomUUID()}`, 'answers rightly');
    const checked = deployment.next('run began').then(() => deployment.next('run began'));
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

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
