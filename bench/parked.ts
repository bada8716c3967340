// What it costs that many releases wait for their revisions at once: how often each is looked at, memory, and what a
// rollback and another release take beside them. bench/README.md says what is measured and what is not.
// `npm run build` first: the worker runs from `dist/`.
//
//   npx tsx --conditions=@slipway/source bench/parked.ts [--waiting 1000] [--seconds 60] [--count 5]
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { WorkflowHandle } from '@temporalio/client';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import type { HistoryRow } from '../src/domain/target/targetState.ts';
import { lookupQuery, rollbackUpdate } from '../src/messages/target.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { startTemporal } from './engine.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { type Behavior, type StandInDeployment, startStandIn } from './standIn.ts';
import { machine, summarize, type Summary, table } from './statistics.ts';
import { startWorker } from './workerProcess.ts';

const LOOK_EVERY_MS = 10;
/** Submissions under way at once. */
const LANES = 20;

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    count: { type: 'string', default: '5' },
  },
});
const [waiting, seconds, count] = [Number(values.waiting), Number(values.seconds), Number(values.count)];

/** A target of the stand-in, and its workflow. */
interface Target {
  readonly deployment: StandInDeployment;
  readonly handle: WorkflowHandle;
  /** Submits a release, and returns its id. */
  release(): Promise<string>;
}

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
const worker = await startWorker(engine, 'home');
try {
  const artifact = await putArtifact(engine.folder);
  const released: Target[] = [];
  for (let turn = 0; turn < count; turn++) released.push(await releasedTwice(artifact));
  const alone = await measured(count, () => releaseAlone(artifact));
  const parkedFrom = performance.now();
  const parked = await inLanes(waiting, () => park(artifact));
  const parkedMs = performance.now() - parkedFrom;
  say(`${parked.length} releases wait after ${Math.round(parkedMs)} ms; they are watched for ${seconds} s`);
  const { requests, silences } = await watchLooks(parked);
  const beside = await measured(count, () => releaseAlone(artifact));
  const toRedeploy = await measured(count, async (turn) => rolledBack(released[turn] as Target));
  const workerMiB = await residentMiB(worker.pid ?? 0);
  const serverMiB = await residentMiB(await serverPid(engine.folder));
  const rows: readonly (readonly [string, Summary])[] = [
    ['a release, before', alone],
    ['a release, beside them', beside],
    ['a rollback beside them, to its redeploy request', toRedeploy],
    ['the longest silence of each that waits', silences],
  ];
  say(
    `\n${table([
      ['', 'median', 'p95', 'longest'],
      ...rows.map(([name, { medianMs, p95Ms, maxMs }]) => [
        name,
        ...[medianMs, p95Ms, maxMs].map((milliseconds) => `${Math.round(milliseconds)} ms`),
      ]),
    ])}\n\n${requests.toFixed(1)} requests a second; worker ${workerMiB} MiB, Temporal ${serverMiB} MiB\n`,
  );
  say(
    JSON.stringify({
      benchmark: 'parked',
      ...{ waiting, parkedMs, alone, beside, toRedeploy, silences, requests },
      ...{ workerMiB, serverMiB, machine: machine() },
    }),
  );
} finally {
  worker.kill('SIGKILL');
  await engine.close();
  await services.close();
}

/** How often the stand-in is asked for all of them, and the longest time that nobody asked for each. */
async function watchLooks(
  parked: readonly Target[],
): Promise<{ readonly requests: number; readonly silences: Summary }> {
  const from = performance.now();
  const looks = parked.map(() => ({ last: from, longest: 0 }));
  let requests = 0;
  const stops = parked.map(({ deployment }, index) =>
    deployment.each('polled', (at) => {
      const look = looks[index];
      if (look === undefined) return;
      requests++;
      look.longest = Math.max(look.longest, at - look.last);
      look.last = at;
    }),
  );
  await delay(seconds * 1_000);
  for (const stop of stops) stop();
  const end = performance.now();
  return {
    requests: requests / seconds,
    silences: summarize(looks.map(({ last, longest }) => Math.max(longest, end - last))),
  };
}

function newTarget(artifact: TarballArtifact, behavior: Behavior): Target {
  const { temporal } = engine;
  const deployment = services.deploy(`bench-${randomUUID()}`, behavior);
  const request = releaseRequest(services.url, deployment, artifact);
  return {
    deployment,
    handle: temporal.client.workflow.getHandle(targetWorkflowId(request.target)),
    release: async () => (await submitRelease(temporal, { ...request, requestKey: randomUUID() })).releaseId,
  };
}

/** A target with two releases behind it, so that there is something to go back to. */
async function releasedTwice(artifact: TarballArtifact): Promise<Target> {
  const target = newTarget(artifact, 'answers rightly');
  for (let turn = 0; turn < 2; turn++) await ended(target.handle, await target.release());
  return target;
}

async function releaseAlone(artifact: TarballArtifact): Promise<number> {
  const target = newTarget(artifact, 'answers rightly');
  const from = performance.now();
  const row = await ended(target.handle, await target.release());
  if (row.outcome !== 'released') throw new Error(`the release ended ${row.outcome}: ${row.reason}`);
  return performance.now() - from;
}

/** A release whose revision never becomes ready, once it waits for that. */
async function park(artifact: TarballArtifact): Promise<Target> {
  const target = newTarget(artifact, 'never ready');
  const patched = target.deployment.next('patched');
  await target.release();
  await patched;
  return target;
}

/** From asking for the rollback to the redeploy request, in milliseconds. */
async function rolledBack({ deployment, handle }: Target): Promise<number> {
  const redeployed = deployment.next('redeploy');
  const from = performance.now();
  const message = { who: 'bench', reason: 'measuring' };
  const { requestId } = await handle.executeUpdate(rollbackUpdate, { args: [message] });
  const redeployedMs = (await redeployed) - from;
  const row = await ended(handle, requestId);
  if (row.outcome !== 'rolled_back') throw new Error(`the rollback ended ${row.outcome}: ${row.reason}`);
  return redeployedMs;
}

async function ended(target: WorkflowHandle, id: string): Promise<HistoryRow> {
  for (;;) {
    const found = await target.query(lookupQuery, id);
    if (found?.state === 'ended') return found.row;
    await delay(LOOK_EVERY_MS);
  }
}

async function measured(times: number, once: (turn: number) => Promise<number>): Promise<Summary> {
  const milliseconds: number[] = [];
  for (let turn = 0; turn < times; turn++) milliseconds.push(await once(turn));
  return summarize(milliseconds);
}

async function inLanes<T>(times: number, once: () => Promise<T>): Promise<T[]> {
  const made: T[] = [];
  let left = times;
  const lane = async (): Promise<void> => {
    while (left-- > 0) made.push(await once());
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return made;
}

/** Temporal's process, which has its database in the engine's folder (Linux). */
async function serverPid(folder: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (/temporal$/.test(command.split('\0')[0] ?? '') && command.includes(folder)) return Number(pid);
  }
  throw new Error(`no process of Temporal has its database in ${folder}`);
}

/** What a process holds in memory now (Linux). */
async function residentMiB(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
