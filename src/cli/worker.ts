import { NativeConnection } from '@temporalio/worker';

import { connectTemporal } from '../temporal/connection.ts';
import { missingSearchAttributes, searchAttributesMissing } from '../temporal/searchAttributes.ts';
import { temporalError } from '../temporal/temporalError.ts';
import { type TemporalSettings, temporalSettings } from '../temporal/temporalSettings.ts';
import { runWorker } from '../worker.ts';
import { type CommandContext } from './context.ts';
import { exitWithParent } from './exitWithParent.ts';
import { onInterruption } from './interruption.ts';

/**
 * `slipway worker`: carries releases out, until SIGTERM or SIGINT; what runs gets a moment to finish. Prints
 * `{"event":"ready","taskQueue","namespace"}` once it polls. With `SLIPWAY_EXIT_WITH_PARENT=1` it also ends when its
 * stdin does.
 *
 * @returns the exit code.
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_SEARCH_ATTRIBUTES_MISSING.
 */
export async function runWorkerCommand({ output, home, environment }: CommandContext): Promise<number> {
  const interruption = onInterruption();
  exitWithParent(environment);
  const settings = await temporalSettings(home, environment);
  await requireSearchAttributes(settings);
  const connection = await connectNative(settings);
  try {
    await runWorker({
      connection,
      namespace: settings.namespace,
      taskQueue: settings.taskQueue,
      signal: interruption.signal,
      onReady: () => {
        output.event({ event: 'ready', taskQueue: settings.taskQueue, namespace: settings.namespace });
        output.say(
          `The worker polls the task queue "${settings.taskQueue}" of ${settings.address}, namespace "${settings.namespace}".`,
        );
      },
    });
    return 0;
  } finally {
    await connection.close();
    interruption.release();
  }
}

/** Unregistered search attributes fail starts and wedge workflows: better no worker than one that does that. */
async function requireSearchAttributes(settings: TemporalSettings): Promise<void> {
  const temporal = await connectTemporal(settings);
  try {
    const missing = await missingSearchAttributes(temporal.connection, settings.namespace);
    if (missing.length > 0) throw searchAttributesMissing(settings.namespace, missing);
  } finally {
    await temporal.close();
  }
}

async function connectNative(settings: TemporalSettings): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(settings.connectionOptions);
  } catch (error) {
    throw temporalError(error, settings);
  }
}
