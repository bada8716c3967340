import { randomUUID } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { createAccess, type Credentials } from '../../../src/platform/access/access.ts';
import { DEFAULT_TENANT_ID } from '../../../src/platform/access/caller.ts';

const access = createAccess({ operatorKey: 'the-key' });

const shown = (credentials: Partial<Credentials>): Credentials => ({
  apiKey: undefined,
  authorization: undefined,
  tenantId: undefined,
  address: null,
  userAgent: null,
  ...credentials,
});

const statusOf = (credentials: Partial<Credentials>): Promise<unknown> =>
  access.authenticate(shown(credentials)).then(
    () => 'let through',
    (error: unknown) => (error as { status: number }).status,
  );

describe('a caller', () => {
  it('shows a key in X-Api-Key or as a bearer token, and the former goes first', async () => {
    for (const credentials of [
      { apiKey: 'the-key' },
      { authorization: 'Bearer the-key' },
      { authorization: 'bearer  the-key' },
      { apiKey: 'the-key', authorization: 'Bearer something for the agent' },
    ]) {
      const caller = await access.authenticate(shown(credentials));
      expect(caller).toMatchObject({ keyId: 'operator', scope: 'admin', tenantId: DEFAULT_TENANT_ID });
    }
  });

  it('without a key is refused with 401, with a wrong one with 403', async () => {
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ apiKey: '' })).toBe(401);
    expect(await statusOf({ authorization: 'Basic dGhlOmtleQ==' })).toBe(401);
    expect(await statusOf({ apiKey: 'the-ke' })).toBe(403);
    expect(await statusOf({ apiKey: 'wrong', authorization: 'Bearer the-key' })).toBe(403);
    expect(await statusOf({ authorization: 'Bearer wrong' })).toBe(403);
  });

  it('with the platform’s own key chooses the tenant', async () => {
    const tenantId = randomUUID();
    const caller = await access.authenticate(shown({ apiKey: 'the-key', tenantId: tenantId.toUpperCase() }));
    expect(caller.tenantId).toBe(tenantId);
    expect(await statusOf({ apiKey: 'the-key', tenantId: 'acme' })).toBe(422);
  });
});
