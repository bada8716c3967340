import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { createControlPlaneClient } from '../../../src/clients/controlPlane.ts';
import { findDeployment, withControlPlane } from '../../../src/inspection/deployment/deploymentAccess.ts';
import { json, startService } from '../../clients/faultyService.ts';
import { testOutput } from '../../cli/testOutput.ts';

it('a key that the command needs is reported as missing where the command runs', async () => {
  const context = { output: testOutput(), home: join(tmpdir(), 'slipway-no-such-home'), environment: {} };
  const target = { controlPlane: 'http://127.0.0.1:4700', apiKey: { from: 'env:SOME_KEY' } };
  const called = withControlPlane(context, target, () => Promise.resolve('called'));
  await expect(called).rejects.toMatchObject({
    code: 'SLIPWAY_SECRET_MISSING',
    place: 'env:SOME_KEY',
    hint: 'set env:SOME_KEY here: this process calls http://127.0.0.1:4700 itself',
  });
});

it('a deployment that was deleted is reported with the next command, but an unknown path as it is', async () => {
  const deploymentId = randomUUID();
  let detail = `Deployment ID ${deploymentId} not found.`;
  const { url: controlPlane } = await startService((_, response) => json(response, 404, { detail }));
  const client = createControlPlaneClient({ baseUrl: controlPlane, apiKey: 'a key' });
  const target = { name: 'production', controlPlane, deploymentId };
  await expect(findDeployment(client, target)).rejects.toMatchObject({
    code: 'SLIPWAY_NOT_FOUND',
    message: `there is no deployment ${deploymentId}`,
    hint: expect.stringMatching(/slipway release production$/) as string,
  });
  detail = 'Not Found';
  await expect(findDeployment(client, target)).rejects.toMatchObject({ status: 404 });
  await client.close();
});
