import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { lockHome } from '../../platform/store/homeLock.ts';
import { connectTemporal } from '../../temporal/connection.ts';
import { startDevServer } from '../../temporal/devServer.ts';
import { type DevState, removeDevState, writeDevState } from '../../temporal/devState.ts';
import { installTemporal } from '../../temporal/installation.ts';
import { registerSearchAttributes } from '../../temporal/searchAttributes.ts';
import { type TemporalSettings, temporalSettings } from '../../temporal/temporalSettings.ts';
import { choosePort } from './ports.ts';
import { type CommandService, startCommand } from './service.ts';
import { supervise, type Supervised, type SupervisorEvent } from './supervisor.ts';

/** How everything is started on one machine. */
export interface LocalStackOptions {
  /** Where all state is kept. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Each `undefined`: the usual port where it is free, else any; 0: any. */
  readonly ports: {
    readonly platform?: number | undefined;
    readonly temporal?: number | undefined;
    readonly temporalUi?: number | undefined;
  };
  /** A line about the way there. */
  readonly onProgress: (line: string) => void;
  readonly onEvent: (event: SupervisorEvent) => void;
  readonly signal: AbortSignal;
}

/** Everything that runs. */
export interface LocalStack {
  readonly state: DevState;
  readonly settings: TemporalSettings;
  readonly apiKey: string;
  /** Where the services' logs are. */
  readonly logs: string;
  /** Ends everything, the worker first. */
  stop(): Promise<void>;
}

/** The control plane's usual port: the one that the examples name. */
export const PLATFORM_PORT = 4700;
const TEMPORAL_PORT = 7233;
const TEMPORAL_UI_PORT = 8233;

/**
 * Starts Temporal (unless its own environment configuration names one), the platform and a worker, each started again
 * when it dies, and leaves their addresses in `<home>/dev.json`.
 *
 * @throws SlipwayError SLIPWAY_HOME_IN_USE where the same runs in this home already; SLIPWAY_PORT_UNAVAILABLE; what a
 * service throws that does not start. Nothing is left running then.
 */
export async function startLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const { home, onProgress } = options;
  const undo: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  try {
    const lock = await lockHome(home, 'dev');
    undo.push(() => lock.release());
    const logs = join(home, 'logs');
    await mkdir(logs, { recursive: true });

    // Both are waited for, also where one fails: what the other has started must be ended.
    const [temporal, platform] = await Promise.allSettled([
      startTemporal(options, logs, undo),
      startPlatform(options, logs, undo),
    ]);
    const settings = settledValue(temporal);
    const { ready } = settledValue(platform).first;
    const apiKeyFile = join(home, 'api.key');
    const apiKey = String(ready['apiKey']);
    const state: DevState = {
      pid: process.pid,
      startedAt: new Date().toISOString(),
      temporal: { address: settings.address, namespace: settings.namespace, ui: settings.ui },
      controlPlane: String(ready['controlPlane']),
      apiKeyFile,
      taskQueue: settings.taskQueue,
    };
    onProgress('starting the worker');
    await startWorker(options, logs, settings, apiKey, undo);
    await writeDevState(home, state);
    undo.push(() => removeDevState(home));
    return { state, settings, apiKey, logs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Undo = (() => Promise<void>)[];

/** Temporal: the one that its own environment configuration names, else a dev server of ours. */
async function startTemporal(
  options: LocalStackOptions,
  logs: string,
  undo: Undo,
): Promise<TemporalSettings> {
  const { home, environment, ports, onProgress, onEvent, signal } = options;
  await removeDevState(home);
  const configured = await temporalSettings(home, environment);
  if (configured.origin === 'environment') {
    onProgress(`using Temporal at ${configured.address}`);
    const temporal = await connectTemporal(configured);
    try {
      await registerSearchAttributes(temporal.connection, configured.namespace);
    } finally {
      await temporal.close();
    }
    return configured;
  }
  const { path: executable } = await installTemporal({ onProgress, signal });
  const port = await choosePort({
    option: '--temporal-port',
    asked: ports.temporal,
    preferred: TEMPORAL_PORT,
  });
  const uiPort = await choosePort({
    option: '--temporal-ui-port',
    asked: ports.temporalUi,
    preferred: TEMPORAL_UI_PORT,
  });
  onProgress('starting Temporal');
  const logFile = join(logs, 'temporal.log');
  const server = await supervise({
    name: 'Temporal',
    onEvent,
    start: () =>
      startDevServer({
        executable,
        databaseFile: join(home, 'temporal', 'temporal.db'),
        port,
        uiPort,
        namespace: configured.namespace,
        signal,
        onLog: (line) => {
          appendFile(logFile, `${line}\n`).catch((error: unknown) => {
            onProgress(`the log of Temporal cannot be written: ${String(error)}`);
          });
        },
      }),
  });
  undo.push(() => server.stop());
  const { address, namespace, ui } = server.first;
  return {
    ...configured,
    address,
    namespace,
    ui,
    origin: 'dev',
    connectionOptions: { ...configured.connectionOptions, address },
  };
}

async function startPlatform(
  { home, environment, ports, onProgress, onEvent, signal }: LocalStackOptions,
  logs: string,
  undo: Undo,
): Promise<Supervised<CommandService>> {
  const port = await choosePort({ option: '--port', asked: ports.platform, preferred: PLATFORM_PORT });
  onProgress('starting the platform');
  const platform = await supervise({
    name: 'the platform',
    onEvent,
    start: () =>
      startCommand({
        args: ['platform', '--home', home, '--port', String(port)],
        // A DATABASE_URL of the shell belongs to the user's own project: here the database is the embedded one.
        environment: { ...environment, DATABASE_URL: undefined },
        logFile: join(logs, 'platform.log'),
        readyTimeoutMs: 120_000,
        stopTimeoutMs: 20_000,
        signal,
      }),
  });
  undo.push(() => platform.stop());
  return platform;
}

async function startWorker(
  { home, environment, onEvent, signal }: LocalStackOptions,
  logs: string,
  settings: TemporalSettings,
  apiKey: string,
  undo: Undo,
): Promise<void> {
  const temporal =
    settings.origin === 'environment'
      ? {}
      : { TEMPORAL_ADDRESS: settings.address, TEMPORAL_NAMESPACE: settings.namespace };
  const worker = await supervise({
    name: 'the worker',
    onEvent,
    start: () =>
      startCommand({
        args: ['worker', '--home', home],
        environment: {
          ...environment,
          ...temporal,
          SLIPWAY_TASK_QUEUE: settings.taskQueue,
          // What `apiKey: { from: env:SLIPWAY_API_KEY }` leads to.
          SLIPWAY_API_KEY: apiKey,
        },
        logFile: join(logs, 'worker.log'),
        readyTimeoutMs: 60_000,
        // What runs gets its grace (see `worker.ts`), and a little more.
        stopTimeoutMs: 45_000,
        signal,
      }),
  });
  undo.push(() => worker.stop());
}

function settledValue<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'fulfilled') return settled.value;
  throw settled.reason;
}
