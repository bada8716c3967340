import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { agentOf } from '../../../../src/cli/commands/check/checkedAddress.ts';
import { runDoctorCommand } from '../../../../src/cli/commands/doctor/doctor.ts';
import { runPlanCommand } from '../../../../src/cli/commands/plan.ts';
import { loadConfig } from '../../../../src/config/loadConfig.ts';
import { deploymentAnswer } from '../../../activities/activitiesUnderTest.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const ID = randomUUID();

/** A target on a control plane that answers every second read with 429. */
async function busyTarget(reference: string, agentUrl: string | null = 'http://127.0.0.1:9') {
  const home = await temporaryFolder();
  const config = join(home, 'slipway.yaml');
  const deployment = deploymentAnswer({ id: ID, source_config: { custom_url: agentUrl } });
  const plane = await startService(({ url }, response) => {
    if (plane.requests.length % 2 === 1) json(response, 429, { detail: 'busy' });
    else json(response, 200, url.includes(ID) ? deployment : { resources: [deployment], offset: 0 });
  });
  await writeFile(
    config,
    `targets: { staging: { controlPlane: "${plane.url}", apiKey: { from: env:K }, ${reference} } }\n`,
  );
  const output = testOutput({ json: true });
  const environment = { K: 'key', HOME: home, TEMPORAL_PROFILE: 'nowhere' };
  return { config, output, context: { home, environment, output } };
}

it('doctor repeats a read of a busy control plane', async () => {
  const { config, output, context } = await busyTarget('deployment: greeter');
  await runDoctorCommand(context, { config });
  expect(output.events).toContainEqual(expect.objectContaining({ name: 'target staging', state: 'ok' }));
});

it('plan repeats both reads of a busy control plane', async () => {
  const { config, output, context } = await busyTarget(`deploymentId: ${ID}`);
  const planned = runPlanCommand(context, 'release', undefined, { config, days: 1 });
  // Only Temporal is missing.
  await expect(planned).rejects.toMatchObject({ code: 'SLIPWAY_CONFIG_INVALID' });
  expect(output.events).toContainEqual(expect.objectContaining({ creates: false }));
});

it('check repeats a read of a busy control plane', async () => {
  const { config, context } = await busyTarget('deployment: greeter');
  const file = await loadConfig(config);
  const { baseUrl } = await agentOf(context, file, undefined, undefined);
  expect(baseUrl).toBe('http://127.0.0.1:9');
});

it('check of a target whose agent has no address yet fails with 1, which is no verdict', async () => {
  const { config, context } = await busyTarget('deployment: greeter', null);
  const file = await loadConfig(config);
  await expect(agentOf(context, file, undefined, undefined)).rejects.toMatchObject({
    exitCode: 1,
    hint: expect.stringContaining('targets.staging.agentUrl') as string,
  });
});
