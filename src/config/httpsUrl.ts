import { SlipwayError } from '../domain/errors.ts';
import { isLoopback } from './loopback.ts';

/**
 * Reads an address from a variable. Cookies, codes and tokens must not travel readable: `http` is for this machine alone.
 *
 * @throws SLIPWAY_USAGE.
 */
export function httpsUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw new SlipwayError('SLIPWAY_USAGE', `${name} is not an https address`, {
    hint: 'write it as https://HOST',
  });
}
