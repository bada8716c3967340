import { connectTemporal, type TemporalConnection } from '../temporal/client/connection.ts';
import { temporalSettings } from '../temporal/client/temporalSettings.ts';
import type { CommandContext } from './context.ts';
import { dashboardOf } from './dashboardOf.ts';

/** After this time without an answer, the command prints Temporal's address, in milliseconds. */
const SLOW_MS = 1_000;

/**
 * Connects to the Temporal that this command uses, and prints the address if that takes longer than a second. The
 * settings include the page that the command links to.
 *
 * @throws SlipwayError SLIPWAY_TEMPORAL_UNREACHABLE, SLIPWAY_CONFIG_INVALID.
 */
export async function openTemporal({
  home,
  environment,
  output,
}: Pick<CommandContext, 'home' | 'environment' | 'output'>): Promise<TemporalConnection> {
  const found = await temporalSettings(home, environment);
  const settings = { ...found, dashboard: dashboardOf({ environment, output }, found) };
  const slow = setTimeout(() => output.progress(`Connecting to Temporal at ${settings.address}`), SLOW_MS);
  try {
    return await connectTemporal(settings);
  } finally {
    clearTimeout(slow);
  }
}

/** Connects as {@link openTemporal} does, and closes the connection after the work. */
export async function withTemporal<T>(
  context: Parameters<typeof openTemporal>[0],
  work: (temporal: TemporalConnection) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(context);
  try {
    return await work(temporal);
  } finally {
    await temporal.close();
  }
}
