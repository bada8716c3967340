import { describe, expect, it } from 'vitest';

import { Hono } from 'hono';

import { CorsSettings } from '@slipway/contract/graphConfig';
import { browserAccess } from '../../src/agentServer/http/access.ts';

const PAGE = 'https://chat.example.com';
const LOCAL = 'http://localhost:3000';

/** Chromium's preflight before a page's request. */
const preflight = (origin: string, method = 'POST') => ({
  method: 'OPTIONS',
  headers: {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type,x-api-key',
  },
});

describe('CORS settings of an agent', () => {
  const allowedFor = async (
    origin: string,
    settings: CorsSettings | undefined,
    hasKey = true,
  ): Promise<string | null> => {
    const app = new Hono();
    app.use(browserAccess(settings, hasKey));
    return (await app.request('/runs', preflight(origin))).headers.get('access-control-allow-origin');
  };

  it.each([
    ['all for an agent with a key', undefined, true, [PAGE, LOCAL], []],
    [
      'those of this machine for one without',
      undefined,
      false,
      [LOCAL, 'http://127.0.0.1:8080'],
      [PAGE, 'null'],
    ],
    ['no look-alikes of this machine', undefined, false, [], ['http://localhost.example.com']],
    ['those that are named', { allow_origins: [PAGE] }, true, [PAGE], [LOCAL]],
    ['all where that is said, also without a key', { allow_origins: ['*'] }, false, [PAGE, LOCAL], []],
    [
      'those that match a pattern as a whole',
      { allow_origin_regex: 'https://.*\\.example\\.com' },
      true,
      [PAGE],
      [`${PAGE}.evil.net`, LOCAL],
    ],
    ['nobody else’s where something else is set', { max_age: 1 }, false, [LOCAL], [PAGE]],
  ] as const)('are %s', async (_, settings, hasKey, allowed, refused) => {
    const given = settings === undefined ? undefined : CorsSettings.parse(settings);
    for (const origin of allowed) expect(await allowedFor(origin, given, hasKey)).toBe(origin);
    for (const origin of refused) expect(await allowedFor(origin, given, hasKey)).toBeNull();
  });

  it('return the configured methods, headers and age', async () => {
    const app = new Hono();
    const settings = {
      allow_methods: ['GET'],
      allow_headers: ['x-api-key'],
      expose_headers: ['X-Own'],
      allow_credentials: true,
      max_age: 7,
    };
    app.use(browserAccess(settings, true));
    const { headers } = await app.request('/', preflight(PAGE));
    expect(Object.fromEntries(headers)).toMatchObject({
      'access-control-allow-methods': 'GET',
      'access-control-allow-headers': 'x-api-key',
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '7',
      'access-control-expose-headers': 'Content-Location,Location,X-Pagination-Total,X-Pagination-Next,X-Own',
    });
  });

  it('reject an invalid regular expression', () => {
    expect(CorsSettings.safeParse({ allow_origin_regex: '(' }).success).toBe(false);
  });
});
