import { beforeEach, describe, expect, it } from 'vitest';

import { Attempts } from '../../../src/dashboard/access/keySignIn.ts';

let now: number;
let attempts: Attempts;
beforeEach(() => {
  now = 0;
  attempts = new Attempts(2, 1_000, () => now);
});

describe('a client', () => {
  it('waits after too many wrong attempts, until the window since the first has passed', () => {
    attempts.fail('ada');
    now = 400;
    expect(attempts.waitMs('ada')).toBe(0);
    attempts.fail('ada');
    expect(attempts.waitMs('ada')).toBe(600);
    now = 1_000;
    expect(attempts.waitMs('ada')).toBe(0);
    attempts.fail('ada');
    expect(attempts.waitMs('ada')).toBe(0);
  });

  it('does not wait because of another client', () => {
    attempts.fail('ada');
    attempts.fail('ada');
    expect(attempts.waitMs('ben')).toBe(0);
  });

  it('is forgotten after 10,000 newer ones', () => {
    attempts.fail('ada');
    attempts.fail('ada');
    for (let index = 0; index < 9_999; index++) attempts.fail(`client ${index}`);
    expect(attempts.waitMs('ada')).toBeGreaterThan(0);
    attempts.fail('one more');
    expect(attempts.waitMs('ada')).toBe(0);
  });
});
