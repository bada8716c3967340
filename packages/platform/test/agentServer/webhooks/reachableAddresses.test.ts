import type { LookupAddress } from 'node:dns';

import { describe, expect, it } from 'vitest';

import { ReachableAddresses } from '../../../src/agentServer/webhooks/reachableAddresses.ts';

const looked = (addresses: ReachableAddresses, host: string) =>
  new Promise<string | LookupAddress[]>((resolve, reject) => {
    addresses.lookup(host, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(found);
    });
  });

describe('the addresses of webhooks', () => {
  it.each([
    'http://127.0.0.1:80/',
    'http://localhost/',
    'http://a.localhost./',
    'http://10.1.2.3/',
    'http://172.31.255.255/',
    'http://192.168.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://100.64.0.1/',
    'http://0.0.0.0/',
    'http://255.255.255.255/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://[::1]/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a00:1]/',
    'http://[64:ff9b::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[fd00::1]/',
    'http://[fe80::1]/',
  ])('that are not public are refused: %s', (url) => {
    expect(new ReachableAddresses().refusal(url)).toMatch(/is not a public address|this machine itself/);
  });

  it.each(['http://8.8.8.8/', 'http://[2606:4700::1111]/', 'https://hooks.example/', 'http://172.32.0.1/'])(
    'that are public are reachable, names until they are resolved: %s',
    (url) => {
      expect(new ReachableAddresses().refusal(url)).toBeUndefined();
    },
  );

  it('of a name are checked when it is resolved', async () => {
    await expect(looked(new ReachableAddresses(), 'localhost')).rejects.toThrow(/not a public address/);
    expect(await looked(new ReachableAddresses(['127.0.0.0/8', '::1']), 'localhost')).not.toHaveLength(0);
  });

  it('that somebody allowed are reachable: an address, a network, a name, all', () => {
    const allowing = (...allowed: string[]) => new ReachableAddresses(allowed);
    expect(allowing('127.0.0.1').refusal('http://127.0.0.1/')).toBeUndefined();
    expect(allowing('127.0.0.1').refusal('http://127.0.0.2/')).toBeDefined();
    expect(allowing('10.0.0.0/8').refusal('http://10.9.9.9/')).toBeUndefined();
    expect(allowing('fd00::/8').refusal('http://[fd12::1]/')).toBeUndefined();
    expect(allowing('Localhost').refusal('http://localhost/')).toBeUndefined();
    expect(allowing('*').refusal('http://[::1]/')).toBeUndefined();
  });

  it.each(['10.0.0.0/33', 'fe80::/129', 'a/8', '-', 'two words'])('are not %s', (entry) => {
    expect(() => new ReachableAddresses([entry])).toThrow(RangeError);
  });
});
