import { SlipwayError } from '../domain/errors.ts';
import { isLoopback } from './loopback.ts';

/**
 * Reads an address from a variable. `http` is accepted only for this machine, because it would expose cookies, codes and tokens.
 * @throws SLIPWAY_USAGE.
 */
export function httpsUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  throw new SlipwayError('SLIPWAY_USAGE', `${name} is not an https address`, {
    hint: 'write it as https://HOST',
  });
}
