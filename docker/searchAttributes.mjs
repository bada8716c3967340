// Registers Slipway's search attributes if the namespace lacks them, before the worker's container starts the worker.
// `slipway doctor --fix` would also end workflows that the last workers failed to continue; these may continue them.
import { slipwayHome } from '../dist/config/home.js';
import { SlipwayError } from '../dist/domain/errors.js';
import { connectTemporal } from '../dist/temporal/client/connection.js';
import { registerSearchAttributes } from '../dist/temporal/client/searchAttributes.js';
import { temporalSettings } from '../dist/temporal/client/temporalSettings.js';

try {
  const temporal = await connectTemporal(await temporalSettings(slipwayHome(process.env), process.env));
  await registerSearchAttributes(temporal).finally(() => temporal.close());
} catch (error) {
  // The worker meets the same problem, and reports it.
  if (!(error instanceof SlipwayError)) throw error;
}
