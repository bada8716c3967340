// How much longer a release takes if its worker is killed during a step and restarted at once. With --elsewhere: if a
// worker with another home replaces it, as on another machine. bench/README.md says what is measured and what is not.
// `npm run build` first: the worker runs from `dist/`.
//
//   npx tsx --conditions=@slipway/source bench/recovery.ts [--count 5] [--step patch] [--elsewhere]
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { watch } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import type { TarballArtifact } from '../src/domain/artifact/artifact.ts';
import type { StepName } from '../src/domain/step.ts';
import { STEPS as STEP_TABLE } from '../src/domain/stepTable.ts';
import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { submitRelease } from '../src/temporal/client/target/targetClient.ts';
import { startTemporal } from './engine.ts';
import { kill } from './peers/processes.ts';
import { say, sayResult, summarize, type Summary, table } from './statistics.ts';
import { KEY_VARIABLE, putArtifact, releaseRequest, releaseResult } from './release.ts';
import { type Behavior, type RequestMatch, type StandInDeployment, startStandIn } from './standIn.ts';
import { startWorker } from './workerProcess.ts';

const AIM_MS = 4_000;
/** Added to the timeout by which the step's lost worker is detected. */
const ELSEWHERE_AIM_MS = 15_000;

/** A step during which the worker is killed. */
interface Step {
  readonly name: StepName;
  /** The request that identifies it; `record` has none. */
  readonly matches: RequestMatch | 'record';
  readonly behavior?: Behavior;
  /** Whether the release creates the deployment. */
  readonly creates?: boolean;
  /** How many such requests to let pass first. */
  readonly passing?: number;
}

interface Result {
  readonly step: StepName;
  readonly uninterrupted: Summary;
  readonly later: Summary;
  readonly aimMs: number;
}

const isRun: RequestMatch = (_method, path) => path.endsWith('/runs/stream');

const STEPS: readonly Step[] = [
  { name: 'find', matches: (method, path) => method === 'GET' && /deployments\/[^/]+$/.test(path) },
  {
    name: 'create',
    matches: (method, path) => method === 'POST' && path === '/v2/deployments',
    creates: true,
  },
  { name: 'baseline', matches: isRun },
  { name: 'upload', matches: (_method, path) => path.startsWith('/uploads/') },
  { name: 'patch', matches: (method) => method === 'PATCH' },
  { name: 'deployed', matches: (_method, path) => /\/revisions\/[^/]+$/.test(path) },
  { name: 'serving', matches: (_method, path) => path.endsWith('/ok') },
  { name: 'check', matches: isRun, passing: 1 },
  { name: 'redeploy', matches: (_method, path) => path.endsWith('/redeploy'), behavior: 'answers wrongly' },
  { name: 'record', matches: 'record' },
];

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: {
    count: { type: 'string', default: '5' },
    step: { type: 'string' },
    elsewhere: { type: 'boolean', default: false },
  },
});
const count = Number(values.count);
const steps = STEPS.filter(({ name }) => values.step === undefined || values.step === name);
if (!Number.isInteger(count) || count < 1 || steps.length === 0) {
  throw new Error('--count is a whole number from 1, --step one of the steps');
}
process.env[KEY_VARIABLE] = randomUUID();
const services = await startStandIn();
const engine = await startTemporal(say);
let machines = 0;
let worker = await nextWorker();
/** How long each restarted worker took from the kill until it polled, in milliseconds. */
const starts: number[] = [];
try {
  const artifact = await putArtifact(engine.folder);
  // Opens connections and warms up Temporal.
  await measure(artifact, STEPS[0], false);
  const results: Result[] = [];
  for (const step of steps) {
    say(`${step.name}: ${count}`);
    const uninterrupted: number[] = [];
    for (let turn = 0; turn < count; turn++) uninterrupted.push(await measure(artifact, step, false));
    const usual = summarize(uninterrupted);
    const later: number[] = [];
    for (let turn = 0; turn < count; turn++) {
      later.push((await measure(artifact, step, true)) - usual.medianMs);
    }
    results.push({ step: step.name, uninterrupted: usual, later: summarize(later), aimMs: aimOf(step) });
  }
  report(results);
} finally {
  await kill(worker);
  await engine.close();
  await services.close();
}

function aimOf({ name }: Step): number {
  if (!values.elsewhere) return AIM_MS;
  const { heartbeatMs, startToCloseMs } = STEP_TABLE[name];
  return ELSEWHERE_AIM_MS + (heartbeatMs ?? startToCloseMs);
}

/** One release, with or without the kill. @returns the time from its request to its result, in milliseconds. */
async function measure(artifact: TarballArtifact, step: Step | undefined, killing: boolean): Promise<number> {
  const { temporal } = engine;
  const { matches = 'record', behavior = 'answers rightly', creates = false, passing = 0 } = step ?? {};
  const deployment = services.deploy(`bench-${randomUUID()}`, behavior, !creates);
  const { target, ...request } = releaseRequest(services.url, deployment, artifact);
  const { deploymentId: _given, ...byName } = target;
  const shipped = { ...request, target: creates ? byName : target };
  const interrupted = killing ? interrupt(deployment, matches, passing, artifact) : undefined;
  const from = performance.now();
  const { releaseId } = await submitRelease(temporal, shipped);
  const targetId = targetWorkflowId(shipped.target);
  const result = await releaseResult(temporal, `${targetId}/${releaseId}`);
  const tookMs = performance.now() - from;
  await interrupted;
  const expected = behavior === 'answers rightly' ? 'released' : 'rolled_back';
  if (result.outcome !== expected) throw new Error(`the release ended ${result.outcome}: ${result.reason}`);
  await temporal.client.workflow.getHandle(targetId).terminate('measured');
  return tookMs;
}

/** Kills the worker during the step, and at once starts it again, or another one. */
async function interrupt(
  deployment: StandInDeployment,
  matches: RequestMatch | 'record',
  passing: number,
  artifact: TarballArtifact,
): Promise<void> {
  if (matches === 'record') {
    await recordBegun(artifact, deployment.name);
  } else {
    for (let passed = 0; passed < passing; passed++) await deployment.next('run began');
    await deployment.hold(matches);
  }
  const from = performance.now();
  worker.kill('SIGKILL');
  worker = await nextWorker();
  starts.push(performance.now() - from);
}

/** Resolves when the worker starts to write the release's record, just before it reports to Temporal. */
async function recordBegun(artifact: TarballArtifact, target: string): Promise<void> {
  const folder = join(fileURLToPath(artifact.store), 'records', target);
  await mkdir(folder, { recursive: true });
  const watcher = watch(folder);
  await once(watcher, 'change');
  watcher.close();
}

/** In the killed worker's home, its successor finds its steps; a worker on another machine has its own home. */
function nextWorker(): Promise<ChildProcess> {
  return startWorker(engine, values.elsewhere ? `home-${++machines}` : 'home');
}

function report(results: readonly Result[]): void {
  const seconds = (milliseconds: number): string => `${(milliseconds / 1_000).toFixed(2)} s`;
  const rows = [
    ['killed in', 'uninterrupted', 'later by', 'longest', 'aim'],
    ...results.map(({ step, uninterrupted, later, aimMs }) => [
      step,
      seconds(uninterrupted.medianMs),
      seconds(later.medianMs),
      seconds(later.maxMs),
      `at most ${seconds(aimMs)}`,
    ]),
  ];
  const within = results.every(({ later, aimMs }) => later.medianMs <= aimMs);
  const start = summarize(starts);
  say(
    `\n${table(rows)}\n\nOf which from the kill until the new worker polls: ${seconds(start.medianMs)}, at most ${seconds(start.maxMs)}. The aim, in every step, is ${within ? '' : 'not '}reached.\n`,
  );
  sayResult('recovery', { elsewhere: values.elsewhere, within, results, start });
}
