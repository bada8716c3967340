import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger, Runtime } from '@temporalio/worker';

import { SlipwayError } from '../../../src/domain/errors.ts';
import type { StepOverrides } from '../../../src/domain/step.ts';
import { targetWorkflowId } from '../../../src/domain/target/targetSpec.ts';
import { connectTemporal, type TemporalConnection } from '../../../src/temporal/client/connection.ts';
import { follow } from '../../../src/temporal/client/release/follow.ts';
import { submitRelease } from '../../../src/temporal/client/target/targetClient.ts';
import { temporalSettings } from '../../../src/temporal/client/temporalSettings.ts';
import { fetchHistories } from '../../../src/temporal/history/fetchHistories.ts';
import type { AuditedHistory } from '../../../src/temporal/history/readFacts.ts';
import { startTemporalServer } from '../../support/temporalServer.ts';
import { ACTIVITIES, replayFailures } from '../../workflows/harness.ts';
import { QUICK, releaseRequest } from '../../workflows/requests.ts';
import { type ActivityName, World } from '../../workflows/world.ts';

/** How much is released while workers are killed. */
export interface StressOptions {
  readonly targets: number;
  /** Releases per target, one after the other. */
  readonly releases: number;
  /** The minimum number of kills; more if releases still run. */
  readonly kills: number;
  readonly onProgress: (line: string) => void;
}

/** The result. */
export interface StressReport {
  readonly released: number;
  readonly kills: number;
  readonly histories: number;
  readonly seconds: number;
  /** The problems. */
  readonly problems: readonly string[];
}

const TASK_QUEUE = 'stress';
const WORKERS = 2;
/** The time between two kills: a new worker takes a few seconds to start, and needs as long to work. */
const KILL_EVERY_MS = 5_000;
/** How long a control plane takes for a call, so that kills hit running calls. */
const CALL_MS = 100;
/** A slow release is no failure. The run fails only if no release ends for this long. */
const STANDSTILL_MS = 1_200_000;

/**
 * A heartbeat timeout detects an activity that is lost with its worker. The other limits are so long that neither
 * slowness nor many kills reach them.
 */
const STEPS: StepOverrides = Object.fromEntries(
  Object.entries(QUICK).map(([step, row]) => [
    step,
    {
      startToCloseMs: STANDSTILL_MS,
      scheduleToCloseMs: STANDSTILL_MS,
      heartbeatMs: 5_000,
      retry: { ...row.retry, maximumAttempts: 0 },
    },
  ]),
);

/**
 * Releases on many targets at once, as the command does, while one of two workers is repeatedly killed and restarted.
 * Temporal, the workers and their workflows are real. Control planes and agents are in memory, unaffected by the kills.
 */
export async function runStress(options: StressOptions): Promise<StressReport> {
  const startedAt = Date.now();
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  const server = await startTemporalServer();
  const worlds = Array.from({ length: options.targets }, (_, index) => new World(`stress-${index}`));
  const controlPlanes = await serveWorlds(worlds);
  const records = await mkdtemp(join(tmpdir(), 'slipway-records-'));
  const settings = await temporalSettings('', {
    TEMPORAL_ADDRESS: server.address,
    SLIPWAY_TASK_QUEUE: TASK_QUEUE,
  });
  const temporal = await connectTemporal(settings);
  const workers = new Workers([server.address, TASK_QUEUE, controlPlanes.url, ACTIVITIES.join(',')]);
  const problems: string[] = [];
  const run: Run = { temporal, records, problems, ended: 0, lastEndedAt: Date.now() };
  try {
    await workers.start();
    const running = new AbortController();
    const kill = async (): Promise<void> => {
      while (!running.signal.aborted || workers.kills < options.kills) {
        await pause(KILL_EVERY_MS);
        await workers.killOne();
        if (workers.kills % 10 === 0) options.onProgress(`${workers.kills} kills, ${run.ended} releases`);
      }
    };
    const release = async (): Promise<readonly number[]> => {
      const released = await Promise.all(worlds.map((world) => releaseOn(run, world, options.releases)));
      running.abort();
      return released;
    };
    const [released] = await Promise.all([release(), kill()]);
    options.onProgress('every release has ended: replaying');
    const histories = await historiesOf(temporal, worlds);
    problems.push(...(await replayFailures(BUNDLE, histories)));
    return {
      released: released.reduce((sum, count) => sum + count, 0),
      kills: workers.kills,
      histories: histories.length,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      problems,
    };
  } finally {
    workers.stop();
    for (const world of worlds) world.close();
    await temporal.close();
    controlPlanes.close();
    await server.close();
    await rm(records, { recursive: true });
  }
}

const BUNDLE = fileURLToPath(new URL('../../../dist/workflow-bundle.cjs', import.meta.url));

/** What the releases of one run share. */
interface Run {
  readonly temporal: TemporalConnection;
  /** The folder of the targets' record stores. */
  readonly records: string;
  readonly problems: string[];
  /** How many releases have ended. */
  ended: number;
  lastEndedAt: number;
}

/** Releases one artifact after the other on one target, and follows each to its end. */
async function releaseOn(run: Run, world: World, releases: number): Promise<number> {
  let released = 0;
  for (let number = 1; number <= releases; number++) {
    const artifact = `r${number}`;
    const recordStore = pathToFileURL(join(run.records, world.id)).href;
    const request = releaseRequest(world.id, artifact, { steps: STEPS, recordStore });
    const subject = `${world.id}, ${artifact}`;
    const outcome = await releaseOnce(run, request);
    if (outcome === 'released') released++;
    else run.problems.push(`${subject}: ${outcome}`);
    const revisions = world.revisionsOf(request.artifact);
    if (revisions.length !== 1) run.problems.push(`${subject}: ${revisions.length} revisions`);
    const active = world.deployment?.activeRevisionId;
    if (active !== revisions[0]) run.problems.push(`${subject}: ${String(active)} serves`);
  }
  return released;
}

/**
 * Submits a release and follows it. Submits it again if no worker accepts it or the target no longer knows it. Returns
 * how it ended.
 */
async function releaseOnce(run: Run, request: ReturnType<typeof releaseRequest>): Promise<string> {
  const { temporal } = run;
  const workflowId = targetWorkflowId(request.target);
  let why = 'it was never taken';
  while (Date.now() - run.lastEndedAt < STANDSTILL_MS) {
    try {
      const { releaseId } = await submitRelease(temporal, request);
      for await (const event of follow(temporal, workflowId, { id: releaseId, timeoutMs: STANDSTILL_MS })) {
        if (event.kind !== 'ended') continue;
        run.ended++;
        run.lastEndedAt = Date.now();
        const { ending } = event;
        return ending.from === 'result' ? ending.result.outcome : ending.row.outcome;
      }
      why = `${releaseId} was lost from sight`;
    } catch (error) {
      if (error instanceof SlipwayError && error.code === 'SLIPWAY_WORKFLOW_STUCK') return String(error);
      why = String(error);
      await pause(1_000);
    }
  }
  return `nothing has ended for ${STANDSTILL_MS / 60_000} min: ${why}`;
}

/** Two workers, each in its own process. */
class Workers {
  kills = 0;
  readonly #args: readonly string[];
  readonly #running: ChildProcess[] = [];

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  async start(): Promise<void> {
    this.#running.push(...Array.from({ length: WORKERS }, () => this.#fork()));
    await Promise.all(this.#running.map(ready));
  }

  /** Kills the oldest worker, and starts another one. */
  async killOne(): Promise<void> {
    const worker = this.#running.shift();
    if (worker === undefined) return;
    const endedWith = worker.exitCode ?? worker.signalCode;
    if (endedWith !== null) throw new Error(`a worker has ended by itself: ${endedWith}`);
    worker.kill('SIGKILL');
    this.kills++;
    const successor = this.#fork();
    this.#running.push(successor);
    await ready(successor);
  }

  stop(): void {
    for (const worker of this.#running) worker.kill('SIGKILL');
  }

  #fork(): ChildProcess {
    return fork(fileURLToPath(new URL('worker.mjs', import.meta.url)), this.#args, { execArgv: [] });
  }
}

/** Waits until a worker polls. */
async function ready(worker: ChildProcess): Promise<void> {
  const ended = once(worker, 'exit').then(([code]) => {
    throw new Error(`a worker ended before it polled: ${String(code)}`);
  });
  await Promise.race([once(worker, 'message'), ended]);
}

interface CarriedCall {
  readonly activity: ActivityName;
  readonly input: { readonly target?: { readonly controlPlane: string }; readonly store?: string };
  readonly info: NonNullable<ConstructorParameters<typeof MockActivityEnvironment>[0]>;
}

/** Serves the worlds to the workers: each call of an activity is one request. */
async function serveWorlds(worlds: readonly World[]): Promise<{ url: string; close: () => void }> {
  const perform = async ({ activity, input, info }: CarriedCall): Promise<object> => {
    const place = input.target?.controlPlane ?? input.store ?? info.workflowExecution?.workflowId ?? '';
    const id = /stress-\d+/.exec(place)?.[0];
    const world = worlds.find((candidate) => candidate.id === id);
    if (world === undefined) throw new Error(`there is no world at ${place}`);
    await pause(Math.random() * CALL_MS);
    try {
      const environment = new MockActivityEnvironment(info);
      return { result: await environment.run(() => world.call(activity, input)) };
    } catch (error) {
      if (!(error instanceof ApplicationFailure)) throw error;
      const { message, type, nonRetryable, details, nextRetryDelay, category } = error;
      return { failure: { message, type, nonRetryable, details, nextRetryDelay, category } };
    }
  };
  const server = createServer((request, response) => {
    void (async () => {
      const answer = await perform((await json(request)) as CarriedCall);
      await pause(Math.random() * CALL_MS);
      response.end(JSON.stringify(answer));
    })().catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => server.close().closeAllConnections(),
  };
}

async function historiesOf(
  temporal: TemporalConnection,
  worlds: readonly World[],
): Promise<readonly AuditedHistory[]> {
  const histories: AuditedHistory[] = [];
  for (const world of worlds) {
    const { target } = releaseRequest(world.id, 'any');
    histories.push(...(await fetchHistories(temporal, targetWorkflowId(target))));
  }
  return histories;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
