import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, it, vi } from 'vitest';

import { runAuditCommand } from '../../../src/cli/commands/audit.ts';
import { SlipwayError } from '../../../src/domain/errors.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../testOutput.ts';

vi.mock('../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(temporal()),
}));

const missing = new SlipwayError('SLIPWAY_PAYLOAD_KEY_MISSING', 'it is encrypted with the key "old"');

function temporal() {
  const getHandle = (workflowId: string) => {
    const gone = workflowId.endsWith(':sealed')
      ? missing
      : new WorkflowNotFoundError('gone', workflowId, undefined);
    return { describe: () => Promise.reject(gone), fetchHistory: () => Promise.reject(gone) };
  };
  return answeringTemporal({ workflow: { getHandle, list: () => [] } });
}

it('slipway audit checks the other targets if the payload key of one is missing', async () => {
  const folder = await temporaryFolder();
  const config = join(folder, 'slipway.yaml');
  const target = 'controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:K" }';
  const targets = `sealed: { ${target}, deployment: sealed }, live: { ${target}, deployment: live }`;
  await writeFile(config, `targets: { ${targets} }\n`);
  const output = testOutput({ json: true });
  const context = { output, home: folder, environment: {} };
  await expect(runAuditCommand(context, undefined, { config })).rejects.toBe(missing);
  expect(output.events).toEqual([
    { event: 'unaudited', target: 'sealed', code: missing.code, message: missing.message },
    { event: 'audited', target: 'live', works: 0, revisions: null, violations: 0 },
  ]);
});
