import { describe, expect, it } from 'vitest';

import { retryAfterMs } from '../../src/clients/serviceError.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const at = (seconds: number): string => new Date(NOW + seconds * 1000).toUTCString();

describe('Retry-After', () => {
  it.each([
    ['seconds', '120', undefined, 120_000],
    ['no time at all', '0', undefined, 0],
    ['seconds with a fraction', '1.5', undefined, 1_500],
    ['blanks around it', ' 3 ', undefined, 3_000],
    ['a date', at(90), undefined, 90_000],
    ["a date by the answer's own clock, which is an hour late", at(90 - 3600), at(-3600), 90_000],
    ['a date that has passed', at(-5), undefined, 0],
    ['longer than a day', '999999999', undefined, 86_400_000],
    ['a date beyond a day', at(10 * 86_400), undefined, 86_400_000],
    ['nothing', undefined, undefined, undefined],
    ['a negative number', '-1', undefined, undefined],
    ['another word', 'later', undefined, undefined],
    ['a date of another form', '2026-11-21T10:01:00Z', undefined, undefined],
  ])('with %s', (_what, header, date, expected) => {
    expect(retryAfterMs(header, date, NOW)).toBe(expected);
  });
});
