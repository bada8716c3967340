// Slipway's worker, with the takeover of a killed worker's steps, as in `slipway worker`.
import { DefaultLogger, makeTelemetryFilterString, NativeConnection, Runtime } from '@temporalio/worker';

import { makeHome } from '../../../src/config/home.ts';
import { connectTemporal } from '../../../src/temporal/client/connection.ts';
import { startedTemporal } from '../../../src/temporal/client/temporalSettings.ts';
import { takeOver } from '../../../src/temporal/server/predecessors/takeOver.ts';
import { joinWorkers } from '../../../src/temporal/server/predecessors/workerRegistry.ts';
import { runWorker } from '../../../src/worker.ts';
import { ready, settingsOf } from '../processes.ts';

/** The settings that {@link startScript} passes. */
export interface SlipwayWorkerSettings {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly bundlePath: string;
  /** The home in which a worker finds the steps of a killed one. */
  readonly home: string;
}

const { address, namespace, taskQueue, bundlePath, home } = settingsOf() as SlipwayWorkerSettings;
const logging = { filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) };
Runtime.install({ logger: new DefaultLogger('ERROR'), telemetryOptions: { logging } });
await makeHome(home);
const settings = startedTemporal({ address, namespace, taskQueue });
const temporal = await connectTemporal(settings);
const registry = await joinWorkers(home, settings);
void takeOver(temporal, registry, { signal: new AbortController().signal, onEvent: () => undefined });
await runWorker({
  connection: await NativeConnection.connect({ address }),
  namespace,
  taskQueue,
  identity: registry.identity,
  bundlePath,
  onReady: ready,
});
