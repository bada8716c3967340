import { expect, it } from 'vitest';

import { problemPage } from '../../../src/dashboard/page/layout.tsx';
import { accessApp } from './testPage.ts';

it('a form whose session has ended is refused with the reason that the person wrote', async () => {
  const app = accessApp({ SLIPWAY_DASHBOARD_KEY: 'a key that a small team shares' });
  app.onError(problemPage);
  const send = async (origin: string) => {
    const answer = await app.request('/press', {
      method: 'POST',
      headers: { host: 'localhost', origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ csrf: 'of the ended session', reason: 'answers in <French>' }),
    });
    return [answer.status, await answer.text()] as const;
  };
  const [status, text] = await send('http://localhost');
  expect(status).toBe(403);
  expect(text).toContain('your session has ended or changed since this form was shown');
  expect(text).toContain('answers in &lt;French&gt;</textarea>');
  expect((await send('https://evil.example'))[1]).not.toContain('French');
});
