import { SlipwayError } from '../domain/errors.ts';
import { httpsUrl } from './httpsUrl.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const VARIABLE = 'SLIPWAY_DASHBOARD_URL';

/**
 * The page's address as browsers see it, from `SLIPWAY_DASHBOARD_URL`: the page answers to it, and commands, CI summaries
 * and notices link to it. `undefined` if it is not set.
 *
 * @throws SlipwayError SLIPWAY_USAGE if it is no address of {@link httpsUrl}, or has a path.
 */
export function readDashboardUrl(environment: Environment): URL | undefined {
  const text = environment[VARIABLE]?.trim() ?? '';
  if (text === '') return undefined;
  const url = httpsUrl(VARIABLE, text);
  if (url.pathname === '/' && url.search === '' && url.hash === '') return url;
  throw new SlipwayError('SLIPWAY_USAGE', `${VARIABLE} has a path`, { hint: `leave it out: ${url.origin}` });
}
