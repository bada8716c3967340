import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import '../../../src/clients/controlPlane.ts';
import { createControlPlaneClient } from '../../../src/clients/controlPlane.ts';
import {
  findDeployment,
  readWhatServes,
  withControlPlane,
} from '../../../src/inspection/deployment/deploymentAccess.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  REVISION_ID,
  targetOn,
} from '../../activities/activitiesUnderTest.ts';
import { testOutput } from '../../cli/testOutput.ts';
import { answers, json, startService } from '../../clients/faultyService.ts';

/** The timeout of other calls to a control plane. */
const CALL_MS = 15_000;

describe('the serving revision in a person’s rollback request', () => {
  async function read(
    answer: Parameters<typeof startService>[0],
    environment: Readonly<Record<string, string>> = { KEY: 'the-key' },
  ): Promise<string | undefined> {
    const { url } = await startService(answer);
    const target = targetOn(url, { apiKey: { from: 'env:KEY' }, deploymentId: DEPLOYMENT_ID });
    const home = join(tmpdir(), 'slipway-no-such-home');
    return readWhatServes({ home, environment }, target);
  }

  it('is the active revision', async () => {
    expect(await read(answers(200, deploymentAnswer()))).toBe(REVISION_ID);
  });

  it('is omitted if nothing serves, the control plane refuses, or the key is not available here', async () => {
    const empty = deploymentAnswer({ active_revision_id: null });
    expect(await read(answers(200, empty))).toBeUndefined();
    expect(await read(answers(403, { detail: 'no' }))).toBeUndefined();
    expect(await read(answers(200, deploymentAnswer()), {})).toBeUndefined();
  });

  it('is read again, because without it a rollback just after a restore changes nothing', async () => {
    let reads = 0;
    const seen = await read((_, response) => {
      reads++;
      if (reads === 1) response.destroy();
      else if (reads === 2) json(response, 500, { detail: 'no' });
      else json(response, 200, deploymentAnswer());
    });
    expect(seen).toBe(REVISION_ID);
  });

  it('is omitted after a short timeout if the control plane does not answer', async () => {
    const began = performance.now();
    expect(await read(() => undefined)).toBeUndefined();
    expect(performance.now() - began).toBeLessThan(CALL_MS / 2);
  });
});

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
