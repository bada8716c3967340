import { describe, expect, it } from 'vitest';

import { summarize, table } from '../../bench/statistics.ts';

describe('a series of measurements', () => {
  it('is summarized in any order', () => {
    const twenty = Array.from({ length: 20 }, (_, index) => 20 - index);
    expect(summarize(twenty)).toEqual({
      count: 20,
      medianMs: 10.5,
      p95Ms: 19,
      p99Ms: 20,
      minMs: 1,
      maxMs: 20,
    });
  });

  it('has its middle value as median if there is one', () => {
    expect(summarize([9, 1, 4])).toMatchObject({ medianMs: 4, p95Ms: 9 });
    expect(summarize([7])).toEqual({ count: 1, medianMs: 7, p95Ms: 7, p99Ms: 7, minMs: 7, maxMs: 7 });
  });
});

describe('a table', () => {
  it('has columns as wide as their widest cell, the first left-aligned and the others right-aligned', () => {
    const rows = [
      ['from', 'median'],
      ['a check', '7 ms'],
    ];
    expect(table(rows)).toBe('from      median\na check     7 ms');
  });
});
