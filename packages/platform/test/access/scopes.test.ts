import { randomUUID } from 'node:crypto';

import { beforeAll, describe, expect, it } from 'vitest';

import type { Scope } from '@slipway/contract/controlPlane/access';
import { CONTROL_PLANE_ENDPOINTS } from '@slipway/contract/controlPlane/endpoints';
import { createAccess } from '../../src/access/access.ts';
import { ENDPOINT_SCOPES, operationAt } from '../../src/access/scopes.ts';
import { createLogger } from '../../src/http/logger.ts';
import { TestPlatform } from '../controlPlane/testPlatform.ts';

const RANK: readonly Scope[] = ['read', 'deploy', 'admin'];

const platform = TestPlatform.use();
const keys = new Map<Scope, string>();

beforeAll(async () => {
  for (const scope of RANK) {
    const { status, json } = await platform.call('POST', '/v1/api-keys', { name: `a ${scope} key`, scope });
    expect(status).toBe(201);
    keys.set(scope, json.key);
  }
});

const endpoints = Object.entries(CONTROL_PLANE_ENDPOINTS).map(([name, { method, path }]) => ({
  name,
  method,
  path: path.replaceAll(/\{\w+\}/g, () => randomUUID()),
  needed: ENDPOINT_SCOPES[name as keyof typeof ENDPOINT_SCOPES],
}));

describe('a key', () => {
  it('is not created with an unknown field, which may be meant to limit it', async () => {
    const request = { name: 'of one tenant', scope: 'admin', tenant_id: randomUUID() };
    expect((await platform.call('POST', '/v1/api-keys', request)).status).toBe(422);
  });

  it('that sends too many requests gets a Retry-After', async () => {
    await platform.start({
      access: createAccess({
        operatorKey: 'limited',
        kysely: platform.kysely,
        log: createLogger({ destination: { write: () => undefined } }),
        rateLimit: { perSecond: 0.1, burst: 2 },
      }),
    });
    const list = () => platform.app.request('/v2/listeners', { headers: { 'x-api-key': 'limited' } });
    expect([(await list()).status, (await list()).status]).toEqual([200, 200]);
    const refused = await list();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('10');
    expect(await refused.json()).toEqual({ detail: expect.stringContaining('10 s') });
    await platform.start();
  });
});

describe('the scope of a key', () => {
  it.each(endpoints)('allows $name from $needed on', async ({ method, path, needed }) => {
    for (const scope of RANK) {
      const headers = { 'x-api-key': keys.get(scope) ?? '' };
      const { status, json } = await platform.call(method, path, method === 'GET' ? undefined : {}, headers);
      if (needed === 'operator') {
        expect({ status, json }).toEqual({
          status: 403,
          json: { detail: expect.stringContaining('own key') },
        });
      } else if (RANK.indexOf(scope) >= RANK.indexOf(needed)) {
        expect([401, 403], `${scope}: ${JSON.stringify(json)}`).not.toContain(status);
      } else {
        expect(status, scope).toBe(403);
        expect(json.detail).toContain(`'${needed}'`);
      }
    }
  });

  it('is in the table for every route that requires a key', () => {
    const routes = platform.app.routes
      .filter(({ method, path }) => method !== 'ALL' && /^\/(?:v1|v2|deployments)\//.test(path))
      .filter(({ method, path }) => operationAt(method, path) === undefined);
    // Webhooks are signed instead.
    const signed = 'POST /v1/integrations/github/:integration_id/webhook';
    expect(new Set(routes.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set([signed]));
  });

  it('decides whether a key sees the values of secrets', async () => {
    const id = await platform.create('shown', { secrets: [{ name: 'TOKEN', value: 'hunter2' }] });
    const shown = async (scope: Scope, path: string) => {
      const headers = { 'x-api-key': keys.get(scope) ?? '' };
      const { json } = await platform.call('GET', path, undefined, headers);
      return path.includes('?') ? json.resources[0]?.secrets : json.secrets;
    };
    expect(await shown('deploy', `/v2/deployments/${id}`)).toEqual([{ name: 'TOKEN', value: 'hunter2' }]);
    for (const path of [`/v2/deployments/${id}`, '/v2/deployments?name_contains=shown']) {
      expect(await shown('read', path)).toEqual([{ name: 'TOKEN', value: null }]);
    }
  });

  it('does not matter for an unknown route', async () => {
    const headers = { 'x-api-key': keys.get('read') ?? '' };
    const { status } = await platform.app.request('/v2/nothing', { headers });
    expect(status).toBe(404);
  });
});
