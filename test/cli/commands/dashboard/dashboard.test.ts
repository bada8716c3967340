import { expect, it } from 'vitest';

import { runDashboardCommand } from '../../../../src/cli/commands/dashboard/dashboard.ts';
import { testOutput } from '../../testOutput.ts';

it.each(['localhost:8233', 'temporal.example.com', 'https://ada:secret@temporal.example.com'])(
  'the page puts an address such as %s into no links to Temporal, but refuses it without repeating it',
  async (temporalUi) => {
    const context = {
      output: testOutput(),
      home: '/nowhere',
      environment: { TEMPORAL_ADDRESS: '127.0.0.1:1' },
    };
    const starting = runDashboardCommand(context, { host: '127.0.0.1', port: 0, temporalUi });
    await expect(starting).rejects.toMatchObject({
      code: 'SLIPWAY_USAGE',
      place: '--temporal-ui',
      message: expect.not.stringContaining(temporalUi) as string,
    });
  },
);

it('the page names its own option if the file of its hooks is missing', async () => {
  const context = { output: testOutput(), home: '/nowhere', environment: {} };
  const options = { host: '127.0.0.1', port: 0, hooks: '/nowhere/slipway.yaml' };
  await expect(runDashboardCommand(context, options)).rejects.toMatchObject({
    code: 'SLIPWAY_CONFIG_NOT_FOUND',
    hint: 'write one with "slipway init", or name it: --hooks FILE',
  });
});
