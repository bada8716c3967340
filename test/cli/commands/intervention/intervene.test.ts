import { describe, expect, it } from 'vitest';

import {
  runInterventionCommand,
  withPromotions,
} from '../../../../src/cli/commands/intervention/intervene.ts';
import { SlipwayError } from '../../../../src/domain/errors.ts';
import { testOutput } from '../../testOutput.ts';

describe('slipway skip', () => {
  it.each([
    ['of a release', {}],
    ['of a promotion', { promotion: 'canary-to-production' }],
  ])('%s requires what to skip, before it calls anything', async (_of, options) => {
    const context = { output: testOutput(), home: '/no/such/home', environment: {} };
    await expect(runInterventionCommand(context, 'skip', 'staging', options)).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      hint: 'name it: --check NAME, --soak, --judge, or --freeze',
    });
  });
});

describe('slipway approve for a target without a waiting release', () => {
  const never = new SlipwayError('SLIPWAY_TARGET_NEVER_RELEASED', 'this target has never taken a release');

  it('names the promotions to the target', () => {
    expect(withPromotions(never, 'approve', ['onward', 'weekly'])).toMatchObject({
      code: 'SLIPWAY_TARGET_NEVER_RELEASED',
      hint: 'a promotion takes it by its own name: slipway approve --promotion onward or weekly',
    });
  });

  it('keeps its error if no promotion leads to the target, and any other error', () => {
    const silent = new SlipwayError('SLIPWAY_NO_WORKER', 'no worker');
    expect(withPromotions(never, 'approve', [])).toBe(never);
    expect(withPromotions(silent, 'approve', ['onward'])).toBe(silent);
  });
});
