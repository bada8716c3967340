import { BlockList, isIP } from 'node:net';
import { unescape } from 'node:querystring';

import type { NativeConnectionOptions } from '@temporalio/worker';

import { type Environment, isLoopback, setting } from '../../config/environment.ts';
import { SlipwayError } from '../../domain/errors.ts';

const VARIABLES = ['grpc_proxy', 'https_proxy', 'http_proxy'];
const HTTP_PORT = '80';

/**
 * The HTTP proxy through which to reach Temporal, by the variables that gRPC's own client reads: the first of
 * `grpc_proxy`, `https_proxy` and `http_proxy`, unless `no_grpc_proxy` or `no_proxy` names the host (the end of its
 * name, also after a `*`, or a network such as `10.0.0.0/8`) or it is this machine.
 * @param address - Temporal's `host:port`.
 * @throws SlipwayError SLIPWAY_CONFIG_INVALID if the variable does not name an HTTP proxy.
 */
export function proxyFor(address: string, environment: Environment): NativeConnectionOptions['proxy'] {
  const { hostname } = new URL(`tcp://${address}`);
  const variable = VARIABLES.find((name) => setting(environment, name) !== undefined);
  const excepted = setting(environment, 'no_grpc_proxy') ?? setting(environment, 'no_proxy') ?? '';
  const rules = excepted.split(',').map((rule) => rule.trim());
  const isExcepted = rules.some((rule) => rule !== '' && covers(rule, hostname));
  if (variable === undefined || isExcepted || isLoopback(hostname)) return undefined;
  const url = setting(environment, variable) ?? '';
  const proxy = URL.canParse(url) ? new URL(url) : undefined;
  if (proxy?.protocol !== 'http:') {
    throw new SlipwayError('SLIPWAY_CONFIG_INVALID', `${variable} does not name an HTTP proxy`, {
      place: variable,
      hint: `write it as http://HOST:PORT, or name Temporal's host in no_grpc_proxy: ${hostname}`,
    });
  }
  const [username, password] = [proxy.username, proxy.password].map((part) => unescape(part));
  return {
    type: 'http-connect',
    targetHost: `${proxy.hostname}:${proxy.port === '' ? HTTP_PORT : proxy.port}`,
    basicAuth: username ? { username, password: password ?? '' } : undefined,
  };
}

/** Whether a rule of `no_proxy` names a host. */
function covers(rule: string, hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/u, '$1');
  const [network = '', bits = ''] = rule.split('/');
  const version = isIP(network);
  const isNetwork = version !== 0 && /^\d+$/u.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
  if (!isNetwork || isIP(host) !== version)
    return host.toLowerCase().endsWith(rule.replace(/^\*/u, '').toLowerCase());
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const within = new BlockList();
  within.addSubnet(network, Number(bits), family);
  return within.check(host, family);
}
