// The worker container's health check: does Temporal see this container's worker poll the task queue?
// Ends with 0 if so; else says why not, and ends with 1.
import { hostname } from 'node:os';

import { slipwayHome } from '../dist/config/home.js';
import { connectTemporal } from '../dist/temporal/client/connection.js';
import { temporalSettings } from '../dist/temporal/client/temporalSettings.js';
import { pollingWorkers } from '../dist/temporal/client/workerPresence.js';

try {
  const settings = await temporalSettings(slipwayHome(process.env), process.env);
  const temporal = await connectTemporal(settings);
  const workers = await pollingWorkers(temporal);
  await temporal.close();
  if (!workers.some((identity) => identity.startsWith(`slipway@${hostname()}:`))) {
    throw new Error(`no worker of this container polls the task queue "${settings.taskQueue}"`);
  }
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
