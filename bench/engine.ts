import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';

import { connectTemporal, type TemporalConnection } from '../src/temporal/client/connection.ts';
import { startDevServer } from '../src/temporal/server/devServer.ts';
import { installTemporal } from '../src/temporal/server/installation/installation.ts';
import { runWorker, type RunWorkerOptions } from '../src/worker.ts';
import { bundleModules } from '../scripts/build/workflowBundle.mjs';
import { bundleSources } from '../test/support/fromSource.ts';

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
    const [port, uiPort] = await freePorts();
    const databaseFile = join(folder, 'temporal.db');
    const server = await startDevServer({ executable, databaseFile, port, uiPort });
    undo.push(() => server.stop());
    const { address, namespace, ui } = server;
    const temporal = await connectTemporal({
      address,
      namespace,
      taskQueue: TASK_QUEUE,
      origin: 'dev',
      connectionOptions: { address },
      ui,
      dashboard: null,
    });
    undo.push(() => temporal.close());
    return { temporal, folder };
  });
}

/**
 * Starts Temporal, bundles the current workflows, and runs a worker in this process.
 * @param say - called with progress, one line each.
 * @param worker - the differences from the worker that `slipway worker` runs.
 */
export async function startEngine(
  say: (line: string) => void,
  worker: Pick<RunWorkerOptions, 'slots'> = {},
): Promise<Engine> {
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
      const options = {
        connection,
        namespace,
        taskQueue: TASK_QUEUE,
        identity: 'bench',
        bundlePath,
        ...worker,
      };
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
  const workflows = fileURLToPath(new URL('../src/workflows', import.meta.url));
  const code = await bundleModules(workflows, '.ts', {
    logger: new DefaultLogger('ERROR'),
    webpackConfigHook: bundleSources,
  });
  const path = join(folder, 'workflow-bundle.cjs');
  await writeFile(path, code);
  return path;
}

async function freePorts(): Promise<readonly [number, number]> {
  const servers = [createServer(), createServer()] as const;
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const [port, uiPort] = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) {
    server.close();
    await once(server, 'close');
  }
  if (port === undefined || uiPort === undefined) throw new Error('there is no free port');
  return [port, uiPort];
}
