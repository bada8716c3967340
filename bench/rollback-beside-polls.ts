// How long a manual rollback takes while other releases wait for their revisions and few slots are left for it.
// bench/README.md says what is measured and what is not.
//
//   npx tsx --conditions=@slipway/source bench/rollback-beside-polls.ts [--slots 20] [--waiting 30] [--count 5]
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import type { WorkflowHandle } from '@temporalio/client';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import type { HistoryRow } from '../src/domain/target/targetState.ts';
import { lookupQuery, rollbackUpdate } from '../src/messages/target.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { type Engine, startEngine } from './engine.ts';
import { machine, summarize, table } from './statistics.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest } from './release.ts';
import { type StandIn, startStandIn } from './standIn.ts';

const AIM_MS = 2_000;
const LOOK_EVERY_MS = 10;

const { values } = parseArgs({
  options: {
    slots: { type: 'string', default: '20' },
    waiting: { type: 'string', default: '30' },
    count: { type: 'string', default: '5' },
  },
});
const [slots, waiting, count] = [Number(values.slots), Number(values.waiting), Number(values.count)];

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startEngine(say, { slots });
try {
  const artifact = await putArtifact(engine.folder);
  const ready = [];
  for (let turn = 0; turn < count; turn++) ready.push(await releasedTwice(engine, services, artifact));
  const parked = await Promise.all(Array.from({ length: waiting }, () => park(engine, services, artifact)));
  say(`${parked.length} releases wait for their revisions; the worker has ${slots} slots`);
  const toRedeploy: number[] = [];
  const toEnd: number[] = [];
  for (const each of ready) {
    const { redeployedMs, endedMs } = await rolledBack(each);
    toRedeploy.push(redeployedMs);
    toEnd.push(endedMs);
  }
  const [redeploy, end] = [summarize(toRedeploy), summarize(toEnd)];
  const row = (name: string, { medianMs, maxMs }: typeof end): string[] => [
    name,
    `${Math.round(medianMs)} ms`,
    `${Math.round(maxMs)} ms`,
  ];
  say(
    `\n${table([['from the rollback to', 'median', 'longest'], row('its redeploy request', redeploy), row('its end', end)])}\n`,
  );
  const within = end.maxMs < AIM_MS;
  say(
    JSON.stringify({
      benchmark: 'rollback-beside-polls',
      ...{ slots, waiting, aimMs: AIM_MS, within, redeploy, end, machine: machine() },
    }),
  );
  for (const target of parked) await target.terminate('measured');
} finally {
  await engine.close();
  await services.close();
}

/** A target with two releases behind it, so that there is something to go back to. */
async function releasedTwice({ temporal }: Engine, standIn: StandIn, artifact: TarballArtifact) {
  const deployment = standIn.deploy(`bench-${randomUUID()}`, 'answers rightly');
  const request = releaseRequest(standIn.url, deployment, artifact);
  const target = temporal.client.workflow.getHandle(targetWorkflowId(request.target));
  for (const requestKey of [randomUUID(), randomUUID()]) {
    const { releaseId } = await submitRelease(temporal, { ...request, requestKey });
    await ended(target, releaseId);
  }
  return { deployment, target };
}

/** A release whose revision never becomes ready, once it waits for that. */
async function park({ temporal }: Engine, standIn: StandIn, artifact: TarballArtifact) {
  const deployment = standIn.deploy(`bench-${randomUUID()}`, 'never ready');
  const request = releaseRequest(standIn.url, deployment, artifact);
  const patched = deployment.next('patched');
  await submitRelease(temporal, request);
  await patched;
  return temporal.client.workflow.getHandle(targetWorkflowId(request.target));
}

async function rolledBack({ deployment, target }: Awaited<ReturnType<typeof releasedTwice>>): Promise<{
  readonly redeployedMs: number;
  readonly endedMs: number;
}> {
  const redeployed = deployment.next('redeploy');
  const from = performance.now();
  const message = { who: 'bench', reason: 'measuring' };
  const { requestId } = await target.executeUpdate(rollbackUpdate, { args: [message] });
  const redeployedMs = (await redeployed) - from;
  const row = await ended(target, requestId);
  if (row.outcome !== 'rolled_back') throw new Error(`the rollback ended ${row.outcome}: ${row.reason}`);
  const endedMs = performance.now() - from;
  await target.terminate('measured');
  return { redeployedMs, endedMs };
}

async function ended(target: WorkflowHandle, id: string): Promise<HistoryRow> {
  for (;;) {
    const found = await target.query(lookupQuery, id);
    if (found?.state === 'ended') return found.row;
    await delay(LOOK_EVERY_MS);
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
