import { Hono } from 'hono';
import { expect, it } from 'vitest';

import { newSession, type PageEnv } from '../../../src/dashboard/access/session.ts';
import { TargetWatches } from '../../../src/dashboard/live/targetWatches.ts';
import { promotionRoutes } from '../../../src/dashboard/promotions/promotionRoutes.tsx';
import { promotionAddress } from '../../../src/domain/dashboard/addresses.ts';
import { PROMOTION_ID, waitingPromotion } from '../actions/waitingPromotion.ts';

const VIEWER = { name: 'bo', proved: false, role: 'view' } as const;

it('the page of a promotion that Temporal does not list yet exists, and that of no promotion does not', async () => {
  const context = waitingPromotion('run-1', () => Promise.reject(new Error('nothing is sent')));
  const page = new Hono<PageEnv>();
  page.use(async (c, next) => {
    c.setRenderer((content) => c.html(content as string));
    c.set('viewer', VIEWER);
    c.set('session', newSession(VIEWER));
    await next();
  });
  page.route('/', promotionRoutes({ ...context, watches: new TargetWatches(context) }));
  const found = await page.request(promotionAddress(PROMOTION_ID));
  expect([found.status, await found.text()]).toEqual([200, expect.stringContaining('>nightly<')]);
  expect((await page.request(promotionAddress('target:x:nightly'))).status).toBe(404);
});
