import { describe, expect, it } from 'vitest';

import { buildProgram } from '../../../src/cli/program/program.ts';
import { platformOptionsOf } from '../src/platformOptions.ts';

const CALLED = { port: 0, home: '/home', json: true };

describe('the options of a platform', () => {
  it('have defaults', () => {
    const { buildLimits: _, ...options } = platformOptionsOf(CALLED, { SLIPWAY_PUBLIC_URL: '' });
    expect(options).toEqual({
      home: '/home',
      port: 0,
      isolation: 'auto',
      rateLimit: { perSecond: 500, burst: 5_000 },
    });
  });

  it('set limits, in their units', () => {
    const limits = { rateLimit: 20, maxBody: 2, maxUpload: 3, keepAudit: 4 };
    expect(platformOptionsOf({ ...CALLED, ...limits }, {})).toMatchObject({
      rateLimit: { perSecond: 20, burst: 200 },
      bodyMaxBytes: 2 * 1_048_576,
      uploadMaxBytes: 3 * 1_048_576,
      auditKeptMs: 4 * 86_400_000,
    });
    expect(platformOptionsOf({ ...CALLED, rateLimit: 0 }, {})).toMatchObject({ rateLimit: 'none' });
    expect(platformOptionsOf({ ...CALLED, rateLimit: 5, rateBurst: 7 }, {})).toMatchObject({
      rateLimit: { perSecond: 5, burst: 7 },
    });
  });

  it('come from its environment', () => {
    const environment = {
      SLIPWAY_PUBLIC_URL: 'https://agents.example.com/',
      SLIPWAY_PLATFORM_API_KEY: 'key',
      SLIPWAY_DOCKER: 'podman',
      SLIPWAY_EGRESS_ALLOW: '10.0.0.0/8, db.internal',
      SLIPWAY_READY_TIMEOUT_MS: '5000',
      SLIPWAY_GIT_POLL_MS: '0',
      SLIPWAY_TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8',
    };
    expect(platformOptionsOf(CALLED, environment)).toMatchObject({
      publicUrl: 'https://agents.example.com',
      apiKey: 'key',
      dockerCommand: 'podman',
      egressAllow: ['10.0.0.0/8', 'db.internal'],
      readyTimeoutMs: 5_000,
      gitPollMs: 0,
      trustedProxies: ['127.0.0.1', '10.0.0.0/8'],
    });
  });

  it.each([
    ['SLIPWAY_READY_TIMEOUT_MS', '0', 'not a whole number of milliseconds from 1'],
    ['SLIPWAY_READY_TIMEOUT_MS', '1m', 'not a whole number of milliseconds from 1'],
    ['SLIPWAY_GIT_POLL_MS', '-1', 'not a whole number of milliseconds from 0'],
    ['SLIPWAY_TRUSTED_PROXIES', 'proxy.example.com', 'not addresses or networks such as 10.0.0.0/8'],
    ['SLIPWAY_TRUSTED_PROXIES', '10.0.0.0/33', 'not addresses or networks such as 10.0.0.0/8'],
    ['SLIPWAY_TRUSTED_PROXIES', '10.0.0.0/', 'not addresses or networks such as 10.0.0.0/8'],
    ['SLIPWAY_EGRESS_ALLOW', '10.0.0.0/33', 'not addresses, networks such as 10.0.0.0/8 or host names'],
    ['SLIPWAY_PUBLIC_URL', 'agents.example.com', 'not an address such as https://agents.example.com'],
    ['SLIPWAY_PUBLIC_URL', 'https://agents.example.com/?a=b', 'not an address such as'],
  ])('reject %s=%s with what is expected', (name, value, message) => {
    expect(() => platformOptionsOf(CALLED, { [name]: value })).toThrow(message);
  });
});

describe('the options of slipway platform', () => {
  it.each([
    ['--rate-limit', 'SLIPWAY_RATE_LIMIT', 'many', 'from 0 to 1000000'],
    ['--rate-burst', 'SLIPWAY_RATE_BURST', '0', 'from 1 to 10000000'],
    ['--max-body', 'SLIPWAY_MAX_BODY_MB', '101', 'from 1 to 100'],
    ['--max-upload', 'SLIPWAY_MAX_UPLOAD_MB', '201', 'from 1 to 200'],
    ['--keep-audit', 'SLIPWAY_AUDIT_DAYS', '0.5', 'from 1 to 36500'],
  ])('%s and %s are rejected if they are not a number in range', async (option, name, value, message) => {
    const parse = async (...args: string[]): Promise<void> => {
      const program = buildProgram({ version: '0', onExit: () => undefined });
      await program.parseAsync(['platform', ...args], { from: 'user' });
    };
    await expect(parse(option, value)).rejects.toThrow(message);
    process.env[name] = value;
    try {
      await expect(parse()).rejects.toThrow(name);
    } finally {
      Reflect.deleteProperty(process.env, name);
    }
  });
});
