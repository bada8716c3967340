import type * as Crypto from 'node:crypto';

import { expect, it, vi } from 'vitest';

import { createAccess } from '../../src/access/access.ts';
import { createLogger } from '../../src/http/logger.ts';

const compared = vi.hoisted(() => ({ lengths: [] as number[][] }));
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof Crypto>();
  return {
    ...crypto,
    timingSafeEqual: (a: Buffer, b: Buffer) => {
      compared.lengths.push([a.length, b.length]);
      return crypto.timingSafeEqual(a, b);
    },
  };
});

it('a key is compared in constant time at any length', async () => {
  const access = createAccess({
    operatorKey: 'the-key',
    // Only needed for keys other than the platform's own.
    kysely: {} as never,
    log: createLogger({ level: 'silent' }),
  });
  const others = { authorization: undefined, tenantId: undefined, address: null, userAgent: null };
  const keys = ['', 'x', 'the-ke', 'the-key', 'x'.repeat(1_000)];
  await Promise.allSettled(keys.map((apiKey) => access.authenticate({ ...others, apiKey })));
  expect(compared.lengths).toEqual(Array(4).fill([32, 32]));
});
