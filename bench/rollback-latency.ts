// How long until the restore of a bad release starts: from its cause to the arrival of the redeploy request at the
// control plane. bench/README.md says what is measured and what is not.
//
//   npx tsx --conditions=@slipway/source bench/rollback-latency.ts [--count 50]
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { createControlPlaneClient } from '../src/clients/controlPlane.ts';
import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { rollbackSignal } from '../src/messages/target.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { type Engine, startEngine } from './engine.ts';
import { numbersOf, say, sayResult, summarize, type Summary, table } from './statistics.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest, releaseResult } from './release.ts';
import { type Behavior, type StandIn, type StandInDeployment, startStandIn } from './standIn.ts';

const AIM_MS = 1_000;
/** The first releases open connections and warm up the JIT compiler. */
const WARM_UP = 2;

interface Series {
  readonly name: string;
  readonly behavior: Behavior;
  /** Resolves with the start time of the measurement, by `performance.now()`. */
  readonly begins: (
    deployment: StandInDeployment,
    rollBack: () => Promise<void>,
    turn: number,
  ) => Promise<number>;
}

const SERIES: readonly Series[] = [
  {
    name: 'a check’s failing answer',
    behavior: 'answers wrongly',
    begins: (deployment) => deployment.next('wrong answer'),
  },
  {
    name: 'a rollback signal while the release is polling',
    behavior: 'never ready',
    async begins(deployment, rollBack, turn) {
      for (let polls = 0; polls < 2 + (turn % 3); polls++) await deployment.next('polled');
      // Varies the moment between two polls.
      await delay((turn * 37) % 250);
      return sent(rollBack);
    },
  },
  {
    name: 'a rollback signal while the release is checking',
    behavior: 'never answers',
    async begins(deployment, rollBack, turn) {
      // The first run belongs to the baseline's checks.
      await deployment.next('run began');
      await deployment.next('run began');
      await delay((turn * 37) % 250);
      return sent(rollBack);
    },
  },
];

async function sent(rollBack: () => Promise<void>): Promise<number> {
  const at = performance.now();
  await rollBack();
  return at;
}

const { count } = numbersOf({ count: 50 });

process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startEngine(say);
try {
  const artifact = await putArtifact(engine.folder);
  const results: { readonly from: string; readonly summary: Summary }[] = [];
  const without = await measure('no engine', (turn) => callsAlone(services, turn));
  for (const series of SERIES) {
    const summary = await measure(series.name, (turn) => takenBack(engine, services, artifact, series, turn));
    results.push({ from: series.name, summary });
  }
  report(results, without);
} finally {
  await engine.close();
  await services.close();
}

/** One failing release, from its request to its end. @returns the latency, in milliseconds. */
async function takenBack(
  { temporal }: Engine,
  standIn: StandIn,
  artifact: TarballArtifact,
  { behavior, begins }: Series,
  turn: number,
): Promise<number> {
  const deployment = standIn.deploy(`bench-${randomUUID()}`, behavior);
  const request = releaseRequest(standIn.url, deployment, artifact);
  const target = temporal.client.workflow.getHandle(targetWorkflowId(request.target));
  // Needs `to`: without it, a rollback leaves the serving revision, which is still the good one while the release
  // polls.
  const rollBack = (): Promise<void> =>
    target.signal(rollbackSignal, { who: 'bench', reason: 'measuring', to: deployment.good });
  const redeployed = deployment.next('redeploy');
  const beginning = begins(deployment, rollBack, turn);
  const { releaseId } = await submitRelease(temporal, request);
  const latencyMs = -(await beginning) + (await redeployed);
  const result = await releaseResult(temporal, `${target.workflowId}/${releaseId}`);
  if (result.outcome !== 'rolled_back' || result.servingRevisionId !== deployment.good) {
    throw new Error(`the release ended ${result.outcome}: ${result.reason}`);
  }
  if (latencyMs <= 0) throw new Error('the redeploy request came before what it is the answer to');
  await target.terminate('measured');
  return latencyMs;
}

/** Only the first two calls of a restore, with the same client: read, redeploy. */
async function callsAlone(standIn: StandIn, turn: number): Promise<number> {
  const deployment = standIn.deploy(`calls-${turn}`, 'answers wrongly');
  const client = createControlPlaneClient({ baseUrl: standIn.url, apiKey: process.env[KEY_VARIABLE] ?? '' });
  await client.getDeployment(deployment.id);
  const redeployed = deployment.next('redeploy');
  const from = performance.now();
  await client.getDeployment(deployment.id);
  await client.redeployRevision(deployment.id, deployment.good);
  await client.close();
  return (await redeployed) - from;
}

async function measure(name: string, once: (turn: number) => Promise<number>): Promise<Summary> {
  say(`${name}: ${count}, after ${WARM_UP} that do not count`);
  const latencies: number[] = [];
  for (let turn = 0; turn < WARM_UP + count; turn++) latencies.push(await once(turn));
  return summarize(latencies.slice(WARM_UP));
}

function report(
  results: readonly { readonly from: string; readonly summary: Summary }[],
  without: Summary,
): void {
  const row = (name: string, { medianMs, p95Ms, maxMs }: Summary): string[] => [
    name,
    ...[medianMs, p95Ms, maxMs].map((milliseconds) => `${Math.round(milliseconds)} ms`),
    `${Math.round(medianMs / without.medianMs)} ×`,
  ];
  const rows = [
    ['to the redeploy request, from', 'median', 'p95', 'longest', 'to the calls alone'],
    ...results.map(({ from, summary }) => row(from, summary)),
    row('(the two calls alone, without an engine)', without),
  ];
  const within = results.every(({ summary }) => summary.p95Ms < AIM_MS);
  say(`\n${table(rows)}\n\nThe aim, under ${AIM_MS} ms for 95 of 100, is ${within ? '' : 'not '}reached.\n`);
  sayResult('rollback-latency', { aimMs: AIM_MS, within, results, without });
}
