import { expect, it } from 'vitest';

import { lineOf } from '../../../src/inspection/deployment/revisionLog.ts';

it.each([
  ['2026-11-21T12:00:00.5', '2026-11-21T12:00:00.5Z'],
  ['2026-11-21T12:00:00+05:45', '2026-11-21T12:00:00+05:45'],
  ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00Z'],
  ['soon', null],
  [null, null],
])('a line of the time %s has the time %s: without an offset it is UTC', (timestamp, time) => {
  expect(lineOf({ stage: 'build', message: '', timestamp }).timestamp).toBe(time);
});
