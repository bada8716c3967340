import { Hono } from 'hono';
import { expect, it } from 'vitest';

import { newSession, type PageEnv } from '../../../src/dashboard/access/session.ts';
import { REASON_MAX_CHARACTERS } from '../../../src/dashboard/actions/actionPage.tsx';
import { actionRoutes } from '../../../src/dashboard/actions/actionRoutes.tsx';
import type { PageContext } from '../../../src/dashboard/pageContext.ts';
import { grpcError } from '../../temporal/client/answeringTemporal.ts';
import { waitingPromotion } from './waitingPromotion.ts';

const AWAY = grpcError('UNAVAILABLE');

it('an action whose answer is lost may still happen: its form says so, and repeats the same message', async () => {
  let isAway = false;
  const context = waitingPromotion(
    'run-1',
    () => {
      isAway = true;
      return Promise.reject(AWAY);
    },
    () => {
      if (isAway) throw AWAY;
    },
  );
  const page = pageOf(context);
  const address = '/promotions/promotion%3Ax%3Anightly/approve';
  const shown = hiddenFields(await (await page.request(address)).text());
  const pressed = await page.request(address, {
    method: 'POST',
    body: new URLSearchParams({ ...shown, reason: 'it is good' }),
  });
  const text = await pressed.text();
  expect(text).toContain('may still happen');
  expect(text).toContain('it is good');
  expect(hiddenFields(text)).toEqual(shown);
});

it('accepts a reason with line breaks that is as long as its field allows', async () => {
  let sent = 0;
  const context = waitingPromotion('run-1', () => Promise.resolve({ note: `sent ${(sent += 1)}` }));
  const page = pageOf(context);
  const address = '/promotions/promotion%3Ax%3Anightly/approve';
  const shown = hiddenFields(await (await page.request(address)).text());
  const reason = ['a'.repeat(REASON_MAX_CHARACTERS / 2 - 1), 'b'.repeat(REASON_MAX_CHARACTERS / 2)].join(
    '\r\n',
  );
  const body = new URLSearchParams({ ...shown, reason });
  const pressed = await page.request(address, { method: 'POST', body });
  expect([pressed.status, sent]).toEqual([303, 1]);
});

/** The pages of actions, for a person who has signed in. */
function pageOf(context: PageContext): Hono<PageEnv> {
  const page = new Hono<PageEnv>();
  page.use(async (c, next) => {
    const viewer = { name: 'bo', proved: false, role: 'release' } as const;
    c.setRenderer((content) => c.html(content as string));
    c.set('viewer', viewer);
    c.set('session', newSession(viewer));
    await next();
  });
  page.route('/', actionRoutes(context));
  return page;
}

function hiddenFields(html: string): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="(?<name>\w+)" value="(?<value>[^"]*)"/g);
  const named = [...fields].map(({ groups }) => [groups?.['name'] ?? '', groups?.['value'] ?? '']);
  return Object.fromEntries(named.filter(([name]) => name !== 'csrf')) as Record<string, string>;
}
