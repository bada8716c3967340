import { BlockList, isIP } from 'node:net';

import { SlipwayError } from '../domain/errors.ts';

/**
 * Reads an address from a variable. `http` is accepted only for this machine, because it would expose cookies, codes and tokens.
 */
export function httpsUrl(name: string, text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))) return url;
  const hint = 'write it as https://HOST';
  throw new SlipwayError('SLIPWAY_USAGE', `${name} is not an https address`, { hint });
}

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether a host is this machine's loopback: `localhost`, 127.0.0.0/8 or `::1`. Does not resolve names. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/u, '$1').toLowerCase();
  if (name === 'localhost' || name === 'localhost.') return true;
  const family = isIP(name);
  return family !== 0 && LOOPBACK.check(name, family === 4 ? 'ipv4' : 'ipv6');
}
