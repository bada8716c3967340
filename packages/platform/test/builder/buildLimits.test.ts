import { describe, expect, it } from 'vitest';
import {
  BUILD_LIMIT_SETTINGS,
  buildLimitsFrom,
  DEFAULT_BUILD_LIMITS,
} from '../../src/builder/buildLimits.ts';

describe('the limits of builds', () => {
  it('are the defaults where the environment says nothing', () => {
    expect(buildLimitsFrom({ SLIPWAY_BUILD_FILES: '' })).toEqual(DEFAULT_BUILD_LIMITS);
  });

  it.each(Object.entries(BUILD_LIMIT_SETTINGS))('%s is what its setting says', (limit, { name, unit }) => {
    expect(buildLimitsFrom({ [name]: '7' })).toEqual({ ...DEFAULT_BUILD_LIMITS, [limit]: 7 * unit });
  });

  it.each(['0', '-1', '1.5', '15m', '1000000'])('refuse a setting of %j', (value) => {
    expect(() => buildLimitsFrom({ SLIPWAY_BUILD_MEMORY_MB: value })).toThrow(
      `SLIPWAY_BUILD_MEMORY_MB is "${value}", not a whole number from 1 to 999999.`,
    );
  });
});
