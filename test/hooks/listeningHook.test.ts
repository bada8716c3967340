import { expect, it } from 'vitest';

import { mismatch } from '../../src/hooks/listeningHook.ts';

it('gives up a pattern that would take for ever, so that other events are not held up', () => {
  const rule = { status: 'any', match: { id: { matches: '^(a+)+$' } } } as const;
  const event = { id: `${'a'.repeat(40)}!` };
  expect(mismatch(rule, { status: 'firing' }, event)).toContain('on "id", /^(a+)+$/ takes longer than 1.0s');
});
