import { SlipwayError } from '../domain/errors.ts';
import { type Environment, setting } from './environment.ts';
import { httpsUrl } from './httpsUrl.ts';

const VARIABLE = 'SLIPWAY_DASHBOARD_URL';

/**
 * The dashboard's address for browsers, from `SLIPWAY_DASHBOARD_URL`. The dashboard accepts requests for it; commands, CI
 * summaries and notices link to it. `undefined` if it is not set.
 * @throws SlipwayError SLIPWAY_USAGE if {@link httpsUrl} rejects it, or it has a path.
 */
export function readDashboardUrl(environment: Environment): URL | undefined {
  const text = setting(environment, VARIABLE);
  if (text === undefined) return undefined;
  const url = httpsUrl(VARIABLE, text);
  if (url.pathname === '/' && url.search === '' && url.hash === '') return url;
  throw new SlipwayError('SLIPWAY_USAGE', `${VARIABLE} has a path`, { hint: `leave it out: ${url.origin}` });
}
