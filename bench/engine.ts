import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';

import { connectTemporal, type TemporalConnection } from '../src/temporal/client/connection.ts';
import { startedTemporal } from '../src/temporal/client/temporalSettings.ts';
import { startDevServer } from '../src/temporal/server/devServer.ts';
import { installTemporal } from '../src/temporal/server/installation/installation.ts';
import { runWorker } from '../src/worker.ts';
import { workflowCode } from '../test/support/workflowCode.ts';
import { freePorts } from './peers/processes.ts';

/** A real Temporal, started in the same way as by `slipway dev`. */
export interface Engine {
  readonly temporal: TemporalConnection;
  /** Its own folder, removed at the end. */
  readonly folder: string;
  close(): Promise<void>;
}

const TASK_QUEUE = 'slipway-bench';

/**
 * Starts Temporal, and installs it if it is missing. Starts no worker.
 * @param say - called with progress, one line each.
 */
export async function startTemporal(say: (line: string) => void): Promise<Engine> {
  return undoable(async (undo) => {
    const folder = await mkdtemp(join(tmpdir(), 'slipway-bench-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const { path: executable } = await installTemporal({ onProgress: say });
    const [port = 0, uiPort = 0] = await freePorts(2);
    const databaseFile = join(folder, 'temporal.db');
    const server = await startDevServer({ executable, databaseFile, port, uiPort });
    undo.push(() => server.stop());
    const { address, namespace } = server;
    const temporal = await connectTemporal(startedTemporal({ address, namespace, taskQueue: TASK_QUEUE }));
    undo.push(() => temporal.close());
    return { temporal, folder };
  });
}

/**
 * Starts Temporal, bundles the current workflows, and runs a worker in this process.
 * @param say - called with progress, one line each.
 */
export async function startEngine(say: (line: string) => void): Promise<Engine> {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    // The worker would warn about the terminated targets of finished measurements.
    telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) } },
  });
  return undoable(async (undo) => {
    const engine = await startTemporal(say);
    const { temporal, folder } = engine;
    undo.push(() => engine.close());
    say('bundling the workflows');
    const bundlePath = await bundleWorkflows(folder);
    const { address, namespace } = temporal.settings;
    const connection = await NativeConnection.connect({ address });
    undo.push(() => connection.close());
    const stop = new AbortController();
    let running: Promise<void> | undefined;
    await new Promise<void>((resolve, reject) => {
      const options = { connection, namespace, taskQueue: TASK_QUEUE, identity: 'bench', bundlePath };
      running = runWorker({ ...options, signal: stop.signal, onReady: resolve });
      running.catch(reject);
    });
    undo.push(() => {
      stop.abort();
      return running ?? Promise.resolve();
    });
    return { temporal, folder };
  });
}

/** Registers cleanups. They run last to first at the end, or at once if the start fails. */
async function undoable<T>(
  begin: (undo: (() => Promise<unknown>)[]) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const undo: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  try {
    return { ...(await begin(undo)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Bundles the workflows as they are now.
 * @param folder - where the bundle is written.
 * @returns the bundle's path.
 */
export async function bundleWorkflows(folder: string): Promise<string> {
  const path = join(folder, 'workflow-bundle.cjs');
  await writeFile(path, await workflowCode());
  return path;
}
