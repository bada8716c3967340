import { BlockList, isIP } from 'node:net';
import { userInfo } from 'node:os';

import { SlipwayError } from '../domain/errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The text of a variable, without white space around it; `undefined` if it is empty or not set. */
export function setting(environment: Environment, name: string): string | undefined {
  const text = environment[name]?.trim();
  return text === '' ? undefined : text;
}

/** Whether a variable such as `CI` is on: any value except an empty one, `0` and `false`. */
export function isOn(environment: Environment, name: string): boolean {
  return !/^(?:0|false)?$/iu.test(environment[name] ?? '');
}

export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no name.
    return 'unknown';
  }
}

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
