import { readDashboardUrl } from '../config/dashboardUrl.ts';
import { SlipwayError } from '../domain/errors.ts';
import type { TemporalSettings } from '../temporal/client/temporalSettings.ts';
import type { CommandContext } from './context.ts';

/**
 * The page that a command links to. For the Temporal of a `slipway dev`: that `dev`'s page. Else:
 * `SLIPWAY_DASHBOARD_URL`. An invalid address is only a warning, because a link must not block a rollback.
 *
 * @returns `https://HOST`; `null`: no links.
 */
export function dashboardOf(
  { environment, output }: Pick<CommandContext, 'environment' | 'output'>,
  { origin, dashboard }: Pick<TemporalSettings, 'origin' | 'dashboard'>,
): string | null {
  if (origin === 'dev') return dashboard;
  try {
    return readDashboardUrl(environment)?.origin ?? dashboard;
  } catch (error) {
    if (!(error instanceof SlipwayError)) throw error;
    const hint = error.hint === undefined ? '' : `; ${error.hint}`;
    output.note(output.style.warn(`no links to the page: ${error.message}${hint}`));
    return dashboard;
  }
}
