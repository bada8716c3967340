import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import { makeHome } from '../../../config/home.ts';
import { type TemporalSettings, temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import { type DevServer, prepareNamespace, startDevServer } from '../../../temporal/server/devServer.ts';
import { type DevState, removeDevState, writeDevState } from '../../../temporal/server/devState.ts';
import { installTemporal } from '../../../temporal/server/installation/installation.ts';
import { PORTS } from '../../usualPorts.ts';
import { loadPlatform } from '../platform/loadPlatform.ts';
import { choosePort } from './ports.ts';
import {
  type CommandService,
  startCommand,
  supervise,
  type Supervised,
  type SupervisorEvent,
} from './service.ts';

export interface LocalStackOptions {
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** For each: `undefined`: the usual port if it is free, else any; 0: any. */
  readonly ports: { readonly [Name in keyof typeof PORTS]?: number };
  /** The `slipway.yaml` whose hooks are served. Absent: none. */
  readonly hooksFile?: string;
  /** The same file, if its hooks can be read without a control plane. Then the page shows their rules. */
  readonly pageHooksFile?: string;
  readonly onProgress: (line: string) => void;
  readonly onEvent: (event: SupervisorEvent) => void;
  readonly signal: AbortSignal;
}

export interface LocalStack {
  readonly state: DevState;
  readonly settings: TemporalSettings;
  readonly apiKey: string;
  /** The address of the hooks; `null`: none are served. */
  readonly hooks: string | null;
  readonly logs: string;
  /** Stops everything, the worker first. */
  stop(): Promise<void>;
}

/**
 * Starts Temporal (unless Temporal's environment names one), the platform, a worker, the dashboard and the hooks. Restarts
 * each of them if it ends unexpectedly. Writes their addresses to `<home>/dev.json`.
 * @throws SlipwayError SLIPWAY_PLATFORM_NOT_INSTALLED, SLIPWAY_PORT_UNAVAILABLE; PlatformError SLIPWAY_HOME_IN_USE if
 * `slipway dev` already runs in this home; the error of a service that does not start. Then nothing is left running.
 */
export async function startLocalStack(options: LocalStackOptions): Promise<LocalStack> {
  const { home } = options;
  const { loadApiKey, lockHome } = await loadPlatform(() => import('@slipway/platform/home'));
  await makeHome(home);
  const lock = await lockHome(home, 'dev');
  const services: Services = {};
  const stop = async (): Promise<void> => {
    await removeDevState(home);
    // The worker first: its last steps need the platform and Temporal.
    await Promise.all([services.worker?.stop(), services.dashboard?.stop(), services.hooks?.stop()]);
    await Promise.all([services.platform?.stop(), services.temporal?.stop()]);
    await lock.release();
  };
  try {
    const logs = join(home, 'logs');
    await mkdir(logs, { recursive: true });
    // Read before the platform has started, so that the worker does not wait for it.
    const apiKey = await loadApiKey(home);
    const failing = new AbortController();
    const start: Start = {
      ...options,
      logs,
      services,
      signal: AbortSignal.any([options.signal, failing.signal]),
    };
    const startOnTemporal = async (): Promise<TemporalSettings & { readonly dashboard: string }> => {
      const settings = await startTemporal(start);
      const [, ready] = await both(
        failing,
        startWorker(start, settings, apiKey),
        startDashboard(start, settings, apiKey),
      );
      return { ...settings, dashboard: String(ready['dashboard']) };
    };
    const [settings, ready] = await both(failing, startOnTemporal(), startPlatform(start));
    const state: DevState = {
      pid: process.pid,
      startedAt: new Date().toISOString(),
      temporal: { address: settings.address, namespace: settings.namespace, ui: settings.ui },
      controlPlane: String(ready['controlPlane']),
      dashboard: settings.dashboard,
      apiKeyFile: join(home, 'api.key'),
      taskQueue: settings.taskQueue,
    };
    await writeDevState(home, state);
    const hooks = await startHooks(start, settings, apiKey);
    return { state, settings, apiKey, hooks, logs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Services {
  temporal?: Supervised<DevServer>;
  platform?: Supervised<CommandService>;
  worker?: Supervised<CommandService>;
  dashboard?: Supervised<CommandService>;
  hooks?: Supervised<CommandService>;
}

interface Start extends LocalStackOptions {
  readonly logs: string;
  readonly services: Services;
}

async function startTemporal(start: Start): Promise<TemporalSettings> {
  const { home, environment, ports, logs, services, onProgress, onEvent, signal } = start;
  await removeDevState(home);
  const configured = await temporalSettings(home, environment);
  if (configured.origin === 'environment') {
    onProgress(`using Temporal at ${configured.address}`);
    await prepareNamespace(configured);
    return configured;
  }
  const { path: executable } = await installTemporal({ onProgress, signal });
  const port = await choosePort({ ...PORTS.temporal, asked: ports.temporal });
  const uiPort = await choosePort({ ...PORTS.temporalUi, asked: ports.temporalUi });
  onProgress('starting Temporal');
  const logFile = join(logs, 'temporal.log');
  services.temporal = await supervise({
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
            onProgress(`the log of Temporal could not be written: ${String(error)}`);
          });
        },
      }),
  });
  const { address, namespace, ui } = services.temporal.first;
  return {
    ...configured,
    address,
    namespace,
    ui,
    origin: 'dev',
    connectionOptions: { ...configured.connectionOptions, address },
  };
}

type Ready = CommandService['ready'];

interface ServiceCommand {
  readonly name: 'platform' | 'worker' | 'dashboard' | 'hooks';
  readonly args?: readonly string[];
  readonly environment: LocalStackOptions['environment'];
  readonly readyTimeoutMs: number;
  readonly stopTimeoutMs: number;
}

async function startService(
  { home, environment, ports, logs, services, onProgress, onEvent, signal }: Start,
  { name, args = [], ...command }: ServiceCommand,
): Promise<Ready> {
  const port = name === 'worker' ? undefined : await choosePort({ ...PORTS[name], asked: ports[name] });
  const title = `the ${name}`;
  onProgress(`starting ${title}`);
  const service = await supervise({
    name: title,
    onEvent,
    start: () =>
      startCommand({
        args: [name, '--home', home, ...(port === undefined ? [] : ['--port', String(port)]), ...args],
        environment: { ...environment, ...command.environment },
        logFile: join(logs, `${name}.log`),
        readyTimeoutMs: command.readyTimeoutMs,
        stopTimeoutMs: command.stopTimeoutMs,
        signal,
      }),
  });
  services[name] = service;
  return service.first.ready;
}

function startPlatform(start: Start): Promise<Ready> {
  return startService(start, {
    name: 'platform',
    // A DATABASE_URL in the shell belongs to the user's own project. The platform uses its embedded database.
    environment: { ...WITHOUT_METRICS, DATABASE_URL: undefined },
    readyTimeoutMs: 120_000,
    stopTimeoutMs: 20_000,
  });
}

function startWorker(start: Start, settings: TemporalSettings, apiKey: string): Promise<Ready> {
  return startService(start, {
    name: 'worker',
    environment: environmentOf(settings, apiKey),
    readyTimeoutMs: 60_000,
    // Longer than the worker gives its running activities (`worker.ts`).
    stopTimeoutMs: 45_000,
  });
}

function startDashboard(start: Start, settings: TemporalSettings, apiKey: string): Promise<Ready> {
  return startService(start, {
    name: 'dashboard',
    args: [
      ...(settings.ui === null ? [] : ['--temporal-ui', settings.ui]),
      ...(start.pageHooksFile === undefined ? [] : ['--hooks', start.pageHooksFile]),
    ],
    // An address in the shell is that of a team's page. This page is for this machine.
    environment: { ...WITHOUT_METRICS, ...environmentOf(settings, apiKey), SLIPWAY_DASHBOARD_URL: undefined },
    readyTimeoutMs: 60_000,
    stopTimeoutMs: 10_000,
  });
}

/** @returns the address of the hooks; `null`: the file has none. */
async function startHooks(start: Start, settings: TemporalSettings, apiKey: string): Promise<string | null> {
  if (start.hooksFile === undefined) return null;
  const ready = await startService(start, {
    name: 'hooks',
    args: ['--config', start.hooksFile],
    environment: environmentOf(settings, apiKey),
    readyTimeoutMs: 60_000,
    stopTimeoutMs: 10_000,
  });
  return String(ready['hooks']);
}

/** Only one process can serve metrics at an address: the worker, which carries out releases. */
const WITHOUT_METRICS = { SLIPWAY_METRICS_ADDRESS: undefined };

/** Variables with which a command uses this Temporal, and `apiKey: { from: env:SLIPWAY_API_KEY }` the platform's key. */
function environmentOf(
  { origin, address, namespace, taskQueue }: TemporalSettings,
  apiKey: string,
): LocalStackOptions['environment'] {
  // Notices must not link to a team's page, which does not show the workflows of this Temporal.
  const own = { TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace, SLIPWAY_DASHBOARD_URL: undefined };
  const temporal = origin === 'environment' ? {} : own;
  return { ...temporal, SLIPWAY_TASK_QUEUE: taskQueue, SLIPWAY_API_KEY: apiKey };
}

/** Waits for both. If one fails, stops the other and waits for its end, so that nothing is left running. */
async function both<One, Other>(
  failing: AbortController,
  one: Promise<One>,
  other: Promise<Other>,
): Promise<[One, Other]> {
  const fail = (error: unknown): void => failing.abort(error);
  await Promise.all([one.catch(fail), other.catch(fail)]);
  failing.signal.throwIfAborted();
  return Promise.all([one, other]);
}
