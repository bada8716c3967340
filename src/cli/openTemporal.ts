import { readDashboardUrl } from '../config/environment.ts';
import { SlipwayError } from '../domain/errors.ts';
import {
  type ConnectOptions,
  connectTemporal,
  type TemporalConnection,
} from '../temporal/client/connection.ts';
import { type TemporalSettings, temporalSettings } from '../temporal/client/temporalSettings.ts';
import type { CommandContext, ReportContext } from './context.ts';
import { sayIfSlow } from './sayIfSlow.ts';

/**
 * Connects to the Temporal that this command uses, and prints the address if that takes longer than a second. The
 * settings include the page that the command links to.
 */
export async function openTemporal(
  { home, environment, output }: CommandContext,
  options?: ConnectOptions,
): Promise<TemporalConnection> {
  const found = await temporalSettings(home, environment);
  const settings = { ...found, dashboard: dashboardOf({ environment, output }, found) };
  const connecting = connectTemporal(settings, options);
  return sayIfSlow(output, `Connecting to Temporal at ${settings.address}`, connecting);
}

export async function withTemporal<T>(
  context: CommandContext,
  work: (temporal: TemporalConnection) => Promise<T>,
  options?: ConnectOptions,
): Promise<T> {
  const temporal = await openTemporal(context, options);
  try {
    return await work(temporal);
  } finally {
    await temporal.close();
  }
}

/**
 * The page that a command links to. For the Temporal of a `slipway dev`: that `dev`'s page. Else:
 * `SLIPWAY_DASHBOARD_URL`. An invalid address is only a warning, because a link must not block a rollback.
 * @returns `https://HOST`; `null`: no links.
 */
export function dashboardOf(
  { environment, output }: ReportContext,
  { origin, dashboard }: Pick<TemporalSettings, 'origin' | 'dashboard'>,
): string | null {
  if (origin === 'dev') return dashboard;
  try {
    return readDashboardUrl(environment)?.origin ?? dashboard;
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const hint = error.hint === undefined ? '' : `; ${error.hint}`;
    output.warn(`no links to the page: ${error.message}${hint}`);
    return dashboard;
  }
}
