import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { runAuditCommand } from '../../../../src/cli/commands/audit.ts';
import { runHistoryCommand } from '../../../../src/cli/commands/history/history.ts';
import { runReleaseCommand } from '../../../../src/cli/commands/release/release.ts';
import { runStatusCommand } from '../../../../src/cli/commands/status/status.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

it.each([
  ['release', runReleaseCommand],
  ['status', runStatusCommand],
  ['history', runHistoryCommand],
  ['audit', runAuditCommand],
])(
  'slipway %s reports a target that slipway.yaml does not have, also without Temporal',
  async (_name, run) => {
    const home = await temporaryFolder();
    const config = join(home, 'slipway.yaml');
    await writeFile(
      config,
      'targets: { staging: { controlPlane: "http://127.0.0.1:1", apiKey: { from: env:K }, deployment: greeter } }\n',
    );
    const context = { home, environment: { TEMPORAL_ADDRESS: '127.0.0.1:1' }, output: testOutput() };
    await expect(run(context, 'stagin', { config, last: 5, wait: false, timeout: 1 })).rejects.toMatchObject({
      code: 'SLIPWAY_TARGET_UNKNOWN',
    });
  },
);
