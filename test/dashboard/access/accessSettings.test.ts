import { describe, expect, it } from 'vitest';

import { readAccessSettings } from '../../../src/dashboard/access/accessSettings.ts';

const KEY = { SLIPWAY_DASHBOARD_KEY: 'a key that a small team shares' };
const OIDC = { SLIPWAY_OIDC_ISSUER: 'https://login.example.com', SLIPWAY_OIDC_CLIENT_ID: 'slipway' };

describe('without a key and without OIDC', () => {
  it.each(['0.0.0.0', '::', '10.0.0.7', 'slipway.example.com', ''])(
    'the dashboard does not listen on %j',
    (host) => {
      expect(refusalOf({}, host)).toMatchObject({
        code: 'SLIPWAY_DASHBOARD_OPEN',
        hint: expect.stringContaining('slipway dashboard --host 127.0.0.1'),
      });
    },
  );

  it.each(['127.0.0.1', '127.8.0.1', 'localhost', '::1', '[::1]'])('the dashboard listens on %s', (host) => {
    expect(readAccessSettings({}, host).signIn.way).toBe('none');
  });

  it('the dashboard has no public address', () => {
    const environment = { SLIPWAY_DASHBOARD_URL: 'https://slipway.example.com' };
    expect(refusalOf(environment)).toMatchObject({ code: 'SLIPWAY_DASHBOARD_OPEN' });
  });
});

describe('with a key or with OIDC', () => {
  it.each([KEY, OIDC])('the dashboard listens on any address', (environment) => {
    expect(readAccessSettings(environment, '0.0.0.0').signIn.way).not.toBe('none');
  });

  it('the client’s secret may be a reference', () => {
    const environment = { ...OIDC, SLIPWAY_OIDC_CLIENT_SECRET: 'env:ELSEWHERE', ELSEWHERE: 'the secret' };
    expect(readAccessSettings(environment, '0.0.0.0').signIn).toMatchObject({ clientSecret: 'the secret' });
  });
});

describe('invalid settings are rejected, without repeating a secret', () => {
  it.each([
    ['both ways', { ...KEY, ...OIDC }, 'both set'],
    ['a short key', { SLIPWAY_DASHBOARD_KEY: 'hunter2' }, 'shorter than 16'],
    [
      'a proxy by its name',
      { ...KEY, SLIPWAY_TRUSTED_PROXIES: '10.0.0.1, proxy.example.com' },
      'neither an address nor a network',
    ],
    ['a short secret', { ...KEY, SLIPWAY_DASHBOARD_SECRET: 'hunter2' }, 'shorter than 16'],
    [
      'no client id',
      { SLIPWAY_OIDC_ISSUER: 'https://login.example.com' },
      'SLIPWAY_OIDC_CLIENT_ID is not set',
    ],
    ['an issuer without TLS', { ...OIDC, SLIPWAY_OIDC_ISSUER: 'http://login.example.com' }, 'not an https'],
  ])('%s', (_what, environment, why) => {
    const error = refusalOf(environment);
    expect(error).toMatchObject({ code: 'SLIPWAY_USAGE', message: expect.stringContaining(why) });
    expect(JSON.stringify(error)).not.toContain('hunter2');
  });

  it('a file of roles with an unknown role', () => {
    const environment = { ...OIDC, SLIPWAY_DASHBOARD_ROLES: new URL(import.meta.url).pathname };
    expect(refusalOf(environment)).toMatchObject({ code: 'SLIPWAY_CONFIG_INVALID' });
  });
});

function refusalOf(environment: Readonly<Record<string, string>>, host = '127.0.0.1'): unknown {
  try {
    return readAccessSettings(environment, host);
  } catch (error) {
    return error;
  }
}
