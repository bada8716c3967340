import { SlipwayError } from '../domain/errors.ts';
import { isLoopback } from './loopback.ts';

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
  throw unusable(`${VARIABLE} has a path`, `leave it out: ${url.origin}`);
}

/**
 * An address that cookies and codes may travel to: `https`, or `http` on this machine alone.
 *
 * @param name - the variable that it is from.
 * @throws SlipwayError SLIPWAY_USAGE.
 */
export function httpsUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw unusable(`${name} is not an https address`, 'write it as https://HOST');
}

function unusable(message: string, hint: string): SlipwayError {
  return new SlipwayError('SLIPWAY_USAGE', message, { hint });
}
