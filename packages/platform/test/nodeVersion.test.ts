import { expect, it } from 'vitest';

import { satisfiesNodeVersion } from '../src/graphConfigText.ts';

it.each([
  [undefined, true],
  ['20', true],
  ['20.11', true],
  ['20.20', true],
  ['20.20.2', true],
  ['20.20.3', false],
  ['20.21', false],
  ['18', true],
  ['18.30.9', true],
  ['22', false],
  ['22.1', false],
])('Node 20.20.2 works for %s: %s', (asked, does) => {
  expect(satisfiesNodeVersion(asked, '20.20.2')).toBe(does);
});
