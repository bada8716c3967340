import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, it, vi } from 'vitest';

import { runAuditCommand } from '../../../../src/cli/commands/audit.ts';
import { runHistoryCommand } from '../../../../src/cli/commands/history/history.ts';
import { runStatusCommand } from '../../../../src/cli/commands/status/status.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(emptyTemporal()),
}));

function emptyTemporal() {
  const gone = () => Promise.reject(new WorkflowNotFoundError('gone', 'target', undefined));
  const getHandle = () => ({ describe: gone, fetchHistory: gone });
  return answeringTemporal({ workflow: { getHandle, list: () => [] } });
}

it.each([
  ['status', runStatusCommand],
  ['history', runHistoryCommand],
  ['audit', runAuditCommand],
])('slipway %s reads the other targets if the deployment of one was deleted', async (_name, run) => {
  const lost = randomUUID();
  const plane = await startService((_request, response) =>
    json(response, 404, { detail: `Deployment ID ${lost} not found` }),
  );
  const home = await temporaryFolder();
  const config = join(home, 'slipway.yaml');
  const target = `controlPlane: "${plane.url}", apiKey: { from: env:K }`;
  await writeFile(
    config,
    `targets: { lost: { ${target}, deploymentId: ${lost} }, staging: { ${target}, deployment: greeter } }\n`,
  );
  const output = testOutput();
  const context = { home, environment: { K: 'key' }, output };
  await expect(run(context, undefined, { config, last: 5 })).rejects.toMatchObject({
    code: 'SLIPWAY_NOT_FOUND',
    message: `there is no deployment ${lost}`,
  });
  expect(output.said.join('\n')).toContain('staging');
});
