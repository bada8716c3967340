import { describe, expect, it } from 'vitest';
import {
  BUILD_LIMIT_SETTINGS,
  buildLimitsFrom,
  DEFAULT_BUILD_LIMITS,
} from '../../src/builder/buildLimits.ts';

describe('the limits of builds', () => {
  it('are the defaults if the environment sets none', () => {
    expect(buildLimitsFrom({ SLIPWAY_BUILD_FILES: '' })).toEqual(DEFAULT_BUILD_LIMITS);
  });

  it.each(Object.entries(BUILD_LIMIT_SETTINGS))(
    '%s has the value of its setting',
    (limit, { name, unit }) => {
      expect(buildLimitsFrom({ [name]: '7' })).toEqual({ ...DEFAULT_BUILD_LIMITS, [limit]: 7 * unit });
    },
  );

  it.each(['0', '-1', '1.5', '15m', '1000000'])('reject a setting of %j', (value) => {
    expect(() => buildLimitsFrom({ SLIPWAY_BUILD_MEMORY_MB: value })).toThrow(
      `SLIPWAY_BUILD_MEMORY_MB is "${value}", not a whole number from 1 to 999999`,
    );
  });
});
