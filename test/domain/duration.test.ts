import { describe, expect, it } from 'vitest';

import { formatDuration, parseDuration } from '../../src/domain/duration.ts';

describe('reading a duration', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['30s', 30_000],
    ['0.5s', 500],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['2d', 172_800_000],
    [' 10s ', 10_000],
  ])('%j is %d ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '5', '5 bananas', 's', '-5s', '5s5', '1h 30m', '31d', '1e3s'])('%j is invalid', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('writing a duration', () => {
  it.each([
    [-2_000, '0ms'],
    [0, '0ms'],
    [850, '850ms'],
    [4_210, '4.2s'],
    [59_990, '1m00s'],
    [125_000, '2m05s'],
    [3_725_000, '1h02m'],
  ])('%d ms is %j', (milliseconds, text) => {
    expect(formatDuration(milliseconds)).toBe(text);
  });
});
