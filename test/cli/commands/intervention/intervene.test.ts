import { describe, expect, it } from 'vitest';

import { runInterventionCommand } from '../../../../src/cli/commands/intervention/intervene.ts';
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
