import { errorText } from '@slipway/contract/codedError';
import { NativeConnection, Runtime } from '@temporalio/worker';

import { readDashboardUrl } from '../../../config/environment.ts';
import { makeHome } from '../../../config/home.ts';
import { readSecretOrigins } from '../../../config/secretOrigins.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { type MetricsExporter, metricsExporter } from '../../../metrics/exporter.ts';
import { measureExpiry, measureOn } from '../../../metrics/meter.ts';
import { observeTargets } from '../../../metrics/targets.ts';
import { connectTemporal, type TemporalConnection } from '../../../temporal/client/connection.ts';
import { requireSearchAttributes } from '../../../temporal/client/searchAttributes.ts';
import { temporalError } from '../../../temporal/client/temporalError.ts';
import { type TemporalSettings, temporalSettings } from '../../../temporal/client/temporalSettings.ts';
import { takeOver, type TakeOverEvent } from '../../../temporal/server/predecessors/takeOver.ts';
import {
  joinWorkers,
  workerIdentity,
  type WorkerRegistry,
} from '../../../temporal/server/predecessors/workerRegistry.ts';
import { type FirstVersion, makeFirstCurrent } from '../../../temporal/versions/routing.ts';
import { isVersioned, requireWholeBundle, workerVersion } from '../../../temporal/versions/workerVersion.ts';
import { startTraces } from '../../../traces/trace.ts';
import { BUNDLE_PATH, runWorker } from '../../../worker.ts';
import type { CommandContext } from '../../context.ts';
import { exitWithParent, interruptible } from '../../interruption.ts';
import type { Output } from '../../output.ts';
import { placeRules } from './placeRules.ts';
import { logOnStderr } from './workerLog.ts';

interface WorkerOptions {
  /** `host:port` on which metrics are served. Default: nowhere. */
  readonly metrics?: string;
}

/** `slipway worker`: runs releases until SIGTERM or SIGINT, then shuts down gracefully. */
export async function runWorkerCommand(
  context: CommandContext,
  version: string,
  options: WorkerOptions,
): Promise<void> {
  return interruptible((signal) => workUntil(signal, context, version, options));
}

async function workUntil(
  signal: AbortSignal,
  { output, home, environment }: CommandContext,
  version: string,
  { metrics }: WorkerOptions,
): Promise<void> {
  const address = metrics === '' ? undefined : metrics;
  const exporter = await metricsExporter(address, environment);
  exitWithParent(environment);
  const places = placeRules(environment);
  readSecretOrigins(environment);
  await requireWholeBundle(BUNDLE_PATH);
  const dashboard = readDashboardUrl(environment)?.origin;
  const settings = await temporalSettings(home, environment);
  const routed = isVersioned(environment) ? await workerVersion(settings.taskQueue, BUNDLE_PATH) : undefined;
  const endTraces = await startTraces(environment, 'slipway-worker');
  const temporal = await connectTemporal(settings);
  const registry = await register(home, settings, output);
  try {
    await requireSearchAttributes(temporal);
    // From here on, native code keeps the process alive until its last connection is closed.
    installRuntime(exporter, address);
    const connection = await connectNative(settings);
    const ending = new AbortController();
    const measure = exporter === undefined ? undefined : measureOn(Runtime.instance().metricMeter);
    measure?.('slipway_worker_info', 1, { version });
    if (measure !== undefined) measureExpiry(measure, settings);
    const observing = measure && observeTargets(temporal, measure, { signal: ending.signal });
    const takingOver =
      registry === undefined
        ? undefined
        : takeOver(temporal, registry, {
            signal: ending.signal,
            onEvent: (event) => printEvent(output, event),
          });
    const routing = routed && route(temporal, routed.buildId, output, ending.signal);
    try {
      await runWorker({
        connection,
        namespace: settings.namespace,
        taskQueue: settings.taskQueue,
        codec: settings.codec,
        places,
        dashboard,
        measure,
        version: routed,
        identity: registry?.identity ?? workerIdentity(),
        signal,
        onReady: () => {
          printReady(output, settings, routed?.buildId);
          if (address !== undefined) output.print(`Metrics: http://${address}/metrics`);
        },
      });
    } finally {
      ending.abort();
      await takingOver;
      await observing;
      await routing;
      await connection.close();
    }
  } finally {
    await registry?.leave();
    await temporal.close();
    await endTraces();
  }
}

function printReady(
  output: Output,
  { taskQueue, namespace, address }: TemporalSettings,
  buildId: string | undefined,
): void {
  output.event({ event: 'ready', taskQueue, namespace, buildId });
  output.print(`The worker polls the task queue "${taskQueue}" of ${address}, namespace "${namespace}".`);
}

/** The first version becomes current automatically; a later one waits for its rollout. */
async function route(
  temporal: TemporalConnection,
  buildId: string,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  try {
    const found = await makeFirstCurrent(temporal, buildId, signal);
    if (found === undefined) return;
    output.event({ event: 'version', buildId, state: found });
    output.print(VERSION_TEXTS[found](buildId));
  } catch (error) {
    warn(output, `version ${buildId} may not take work: ${errorText(error)}; see: slipway worker rollout`);
  }
}

const VERSION_TEXTS = {
  made_current: (buildId) => `Version ${buildId} is the first: it takes all work.`,
  current: (buildId) => `Version ${buildId} is current: it takes new work.`,
  waits: (buildId) => `Version ${buildId} waits for its rollout: slipway worker rollout`,
} satisfies Readonly<Record<FirstVersion, (buildId: string) => string>>;

function installRuntime(exporter: MetricsExporter | undefined, address: string | undefined): void {
  // The service name in OTLP. The SDK reads it only from here.
  process.env['OTEL_SERVICE_NAME'] ??= 'slipway-worker';
  try {
    logOnStderr('INFO', exporter);
  } catch (error) {
    if (address === undefined) throw error;
    const message = `metrics cannot be served on ${address}: ${errorText(error)}`;
    const hint = 'end what listens there, or choose another port: slipway worker --metrics 127.0.0.1:PORT';
    throw new SlipwayError('SLIPWAY_PORT_UNAVAILABLE', message, { place: address, hint, cause: error });
  }
}

/** An unregistered worker also works; only takeover after a kill is slower. */
async function register(
  home: string,
  settings: TemporalSettings,
  output: Output,
): Promise<WorkerRegistry | undefined> {
  try {
    await makeHome(home);
    return await joinWorkers(home, settings);
  } catch (error) {
    const why = errorText(error);
    warn(output, `if this worker is killed, its steps are retried only at their deadlines: ${why}`);
    return undefined;
  }
}

function printEvent(output: Output, event: TakeOverEvent): void {
  if (event.what === 'could_not_look') {
    const why = errorText(event.error);
    warn(
      output,
      `steps of killed workers could not be found, and are retried only at their deadlines: ${why}`,
    );
    return;
  }
  const { workflowId, activityType, workerIdentity: from } = event.step;
  output.event({ event: 'took_over', workflowId, activityType, from });
  output.note(`${activityType} of ${workflowId} is retried, because its worker ${from} was killed`);
}

function warn(output: Output, message: string): void {
  output.event({ event: 'warning', message });
  output.warn(message);
}

async function connectNative(settings: TemporalSettings): Promise<NativeConnection> {
  try {
    const { connectionOptions, proxy } = settings;
    return await NativeConnection.connect({ ...connectionOptions, proxy });
  } catch (error) {
    await Runtime.instance().shutdown();
    throw temporalError(error, settings);
  }
}
