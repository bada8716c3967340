import { expect, it } from 'vitest';

import { returnPath } from '../../../src/dashboard/access/address.ts';

it.each(['/', '/targets/a%20b?tab=checks', '/releases/x/y'])(
  'returns to the dashboard’s own path %s',
  (path) => {
    expect(returnPath(path)).toBe(path);
  },
);

it.each([
  undefined,
  '',
  'https://evil.example/',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/\n//evil.example',
  '/.//evil.example',
  '/x/..//evil.example',
  'javascript:alert(1)',
  'targets',
  '/sign-in?to=/sign-in',
  '/sign-in/callback?code=1',
  '/sign-out',
  '/signed-out',
])('returns to the first page for %j', (path) => {
  expect(returnPath(path)).toBe('/');
});
