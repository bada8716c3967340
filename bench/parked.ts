// The cost of many releases that wait for their revisions at once: how often each is polled, memory, and how long a
// rollback and another release take meanwhile. bench/README.md says what is measured and what is not. `npm run build`
// first: the worker runs from `dist/`.
//
//   npx tsx --conditions=@slipway/source bench/parked.ts [--waiting 1000] [--seconds 60] [--count 5] [--lists] [--come-up]
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { WorkflowHandle } from '@temporalio/client';
import pLimit from 'p-limit';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import type { HistoryRow } from '../src/domain/target/targetState.ts';
import { lookupQuery, rollbackUpdate } from '../src/messages/target.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { startTemporal } from './engine.ts';
import { costOf } from './peers/measured.ts';
import { usageOf } from './peers/usage.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { type Behavior, type StandInDeployment, startStandIn } from './standIn.ts';
import { say, sayResult, summarize, type Summary, table } from './statistics.ts';
import { startWorker } from './workerProcess.ts';

const LOOK_EVERY_MS = 10;
/** The limit for all releases after their revisions are deployed at once. */
const ALL_DONE_WITHIN_MS = 3_600_000;

const { values } = parseArgs({
  options: {
    waiting: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '60' },
    count: { type: 'string', default: '5' },
    lanes: { type: 'string', default: '20' },
    lists: { type: 'boolean', default: false },
    'come-up': { type: 'boolean', default: false },
  },
});
const { lists, 'come-up': comeUp } = values;
const [waiting, seconds, count] = [Number(values.waiting), Number(values.seconds), Number(values.count)];
/** Concurrent submissions. */
const lanes = Number(values.lanes);

/** A target of the stand-in, and its workflow. */
interface Target {
  readonly deployment: StandInDeployment;
  readonly handle: WorkflowHandle;
  /** Submits a release, and returns its id. */
  release(): Promise<string>;
}

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
services.lists = lists;
const engine = await startTemporal(say);
const worker = await startWorker(engine, 'home');
try {
  const artifact = await putArtifact(engine.folder);
  const released: Target[] = [];
  for (let turn = 0; turn < count; turn++) released.push(await releasedTwice(artifact));
  const alone = await measured(count, () => releaseAlone(artifact));
  const parkedFrom = performance.now();
  const parked = await pLimit(lanes).map(Array(waiting).fill(artifact), park);
  const parkedMs = performance.now() - parkedFrom;
  // By then the shared poller handles each of them.
  await delay(15_000);
  say(`${parked.length} releases wait after ${Math.round(parkedMs)} ms; they are watched for ${seconds} s`);
  const before = usage();
  services.requests.clear();
  const silences = await watchLooks(parked);
  const requests = Object.fromEntries(services.requests);
  const cost = costOf(before, usage(), seconds);
  say('looks are counted; another release and rollbacks follow');
  const beside = await measured(count, () => releaseAlone(artifact));
  const rollback = await measured(count, async (turn) => rolledBack(released[turn] as Target));
  const ofParked = await measured(count, async () => {
    const target = parked.pop() as Target;
    return rolledBack(target, target.deployment.good);
  });
  say('rollbacks are measured');
  const came = comeUp ? await comeUpAtOnce(parked) : undefined;
  const rows: [string, Summary][] = [
    ['a release, before', alone],
    ['a release, beside them', beside],
    ['a rollback beside them, to its redeploy request', rollback],
    ['a rollback of one of them, to its redeploy request', ofParked],
    ['the longest silence of each that waits', silences],
  ];
  if (came !== undefined) rows.push(['DEPLOYED, all at once, to the look that sees it', came.noticed]);
  say(
    `\n${table([
      ['', 'median', 'p95', 'longest'],
      ...rows.map(([name, { medianMs, p95Ms, maxMs }]) => [
        name,
        ...[medianMs, p95Ms, maxMs].map((milliseconds) => `${Math.round(milliseconds)} ms`),
      ]),
    ])}\n`,
  );
  for (const [kind, sent] of Object.entries(requests))
    say(`${(sent / seconds).toFixed(1)} a second: ${kind}`);
  const cpu = `${cost.worker.cpuMs} + ${cost.server.cpuMs} ms of CPU a second`;
  say(`worker ${cost.worker.memoryMiB} MiB, Temporal ${cost.server.memoryMiB} MiB; ${cpu}`);
  if (came !== undefined) say(`all of them done at ${came.perSecond} a second`);
  sayResult('parked', {
    waiting,
    lists,
    parkedMs,
    alone,
    beside,
    rollback,
    ofParked,
    silences,
    requests,
    seconds,
    cost,
    ...came,
  });
} finally {
  worker.kill('SIGKILL');
  await engine.close();
  await services.close();
}

function usage() {
  return usageOf(process.pid, worker.pid ?? 0);
}

/** All become `DEPLOYED` at the same moment: when each is noticed, and how many finish per second. */
async function comeUpAtOnce(
  parked: readonly Target[],
): Promise<{ readonly noticed: Summary; readonly perSecond: number }> {
  const from = performance.now();
  const noticed: number[] = [];
  let done = 0;
  await Promise.race([
    new Promise<void>((resolve) => {
      for (const { deployment } of parked) {
        void deployment.next('seen deployed').then((at) => noticed.push(at - from));
        // The check is a release's last request.
        void deployment.next('run began').then(() => {
          if (++done === parked.length) resolve();
        });
      }
      for (const { deployment } of parked) deployment.comeUp();
    }),
    delay(ALL_DONE_WITHIN_MS, undefined, { ref: false }),
  ]);
  const perSecond = Math.round((done * 10_000) / (performance.now() - from)) / 10;
  return { noticed: summarize(noticed), perSecond };
}

/** The longest time between two polls of each release. */
async function watchLooks(parked: readonly Target[]): Promise<Summary> {
  const from = performance.now();
  const looks = parked.map(() => ({ last: from, longest: 0 }));
  const stops = parked.map(({ deployment }, index) =>
    deployment.each('polled', (at) => {
      const look = looks[index];
      if (look === undefined) return;
      look.longest = Math.max(look.longest, at - look.last);
      look.last = at;
    }),
  );
  await delay(seconds * 1_000);
  for (const stop of stops) stop();
  const end = performance.now();
  return summarize(looks.map(({ last, longest }) => Math.max(longest, end - last)));
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

/** A target with two finished releases, so that a rollback is possible. */
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

/** Starts a release whose revision never becomes ready. Resolves when it waits for that. */
async function park(artifact: TarballArtifact): Promise<Target> {
  const target = newTarget(artifact, 'never ready');
  const patched = target.deployment.next('patched');
  await target.release();
  await patched;
  return target;
}

/** The time from the rollback request to the redeploy request, in milliseconds. */
async function rolledBack({ deployment, handle }: Target, to?: string): Promise<number> {
  const redeployed = deployment.next('redeploy');
  const from = performance.now();
  const message = { who: 'bench', reason: 'measuring', to };
  await handle.executeUpdate(rollbackUpdate, { args: [message] });
  return (await redeployed) - from;
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
