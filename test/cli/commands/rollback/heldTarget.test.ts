import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, it, vi } from 'vitest';

import { runRollbackCommand } from '../../../../src/cli/commands/rollback/rollback.ts';
import { EMPTY_TARGET, type TargetState } from '../../../../src/domain/target/targetState.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  openTemporal: () => Promise.resolve({ ...temporal(), close: () => Promise.resolve() }),
}));

let spec: TargetState['spec'];

/** A target that rejects every rollback. */
function temporal() {
  const refused = ApplicationFailure.nonRetryable('it cannot be restored', 'SLIPWAY_USAGE');
  const executeUpdate = () => Promise.reject(new WorkflowUpdateFailedError('refused', refused));
  const query = () => Promise.resolve({ state: { ...EMPTY_TARGET, spec }, running: null });
  return answeringTemporal({ workflow: { getHandle: () => ({ executeUpdate, query }) } });
}

it.each([
  ['that was only held has never taken a release', null, 'SLIPWAY_TARGET_NEVER_RELEASED'],
  ['that has released rejects what it cannot restore', {}, 'SLIPWAY_USAGE'],
])('a target %s', async (_what, has, code) => {
  spec = has as TargetState['spec'];
  const folder = await temporaryFolder();
  const config = join(folder, 'slipway.yaml');
  const target = '{ controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }, deployment: greeter }';
  await writeFile(config, `targets: { production: ${target} }\nartifact: { store: . }\n`);
  const context = { output: testOutput(), home: folder, environment: {} };
  const options = { config, to: 'release-1', wait: false, timeout: 1_000 };
  await expect(runRollbackCommand(context, undefined, options)).rejects.toMatchObject({ code });
});
