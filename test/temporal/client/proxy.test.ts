import { describe, expect, it } from 'vitest';

import { proxyFor } from '../../../src/temporal/client/proxy.ts';

const PROXY = { https_proxy: 'http://proxy.example.com:3128' };
const THROUGH = { type: 'http-connect', targetHost: 'proxy.example.com:3128' };

describe('Temporal is reached', () => {
  it.each([
    [
      'grpc_proxy',
      { ...PROXY, grpc_proxy: 'http://10.0.0.1' },
      { type: 'http-connect', targetHost: '10.0.0.1:80' },
    ],
    ['https_proxy', { ...PROXY, http_proxy: 'http://other' }, THROUGH],
    ['http_proxy', { http_proxy: 'http://proxy.example.com:3128', https_proxy: '' }, THROUGH],
  ])('through the proxy in %s', (_, environment, proxy) => {
    expect(proxyFor('temporal.example.com:7233', environment)).toMatchObject(proxy);
  });

  it('with the name and password of the proxy', () => {
    const proxy = proxyFor('temporal.example.com:7233', { grpc_proxy: 'http://ada:s%2Fecret@proxy:3128' });
    expect(proxy?.basicAuth).toEqual({ username: 'ada', password: 's/ecret' });
  });

  it('with a password that has a percent sign of its own', () => {
    const proxy = proxyFor('temporal.example.com:7233', { grpc_proxy: 'http://ada:100%sure@proxy:3128' });
    expect(proxy?.basicAuth).toEqual({ username: 'ada', password: '100%sure' });
  });

  it.each([
    ['without a variable', 'temporal.example.com:7233', {}],
    ['on this machine', 'localhost:7233', PROXY],
    ['on this machine, by its address', '127.0.0.1:7233', PROXY],
    [
      'if no_proxy names the end of its name',
      'a.example.com:7233',
      { ...PROXY, no_proxy: 'b, .example.com' },
    ],
    ['if no_proxy names its network', '10.1.2.3:7233', { ...PROXY, no_proxy: '10.0.0.0/8,' }],
    ['if no_proxy names its IPv6 network', '[fd00::7]:7233', { ...PROXY, no_proxy: '10.0.0.0/8,FD00::/8' }],
    ['if no_proxy names its IPv6 address', '[fd00::7]:7233', { ...PROXY, no_proxy: 'fd00::7' }],
    ['if no_proxy names it in capitals', 'a.example.com:7233', { ...PROXY, no_proxy: 'Example.COM' }],
    ['if no_proxy names every host', 'a:7233', { ...PROXY, no_proxy: '*' }],
    ['if no_proxy names its domain after a *', 'a.example.com:7233', { ...PROXY, no_proxy: '*.example.com' }],
    ['if no_grpc_proxy names it', 'a:7233', { ...PROXY, no_proxy: 'b', no_grpc_proxy: 'a' }],
  ])('directly %s', (_, address, environment) => {
    expect(proxyFor(address, environment)).toBeUndefined();
  });

  it.each([
    ['has no such name', { ...PROXY, no_proxy: 'other.com, ,10.0.0.0/99,' }],
    ['has another network', { ...PROXY, no_proxy: '10.0.0.0/8,fd00::/8' }],
  ])('through the proxy if no_proxy %s', (_, environment) => {
    expect(proxyFor('192.168.1.2:7233', environment)).toMatchObject(THROUGH);
  });

  it.each(['https://proxy:3128', 'proxy:3128', 'socks5://proxy'])('never through "%s"', (url) => {
    expect(() => proxyFor('temporal:7233', { grpc_proxy: url })).toThrow(
      expect.objectContaining({ code: 'SLIPWAY_CONFIG_INVALID', place: 'grpc_proxy' }),
    );
  });
});
