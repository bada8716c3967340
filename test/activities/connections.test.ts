import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import type { Info } from '@temporalio/activity';
import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, it, onTestFinished, vi } from 'vitest';

import { Connections } from '../../src/activities/connections.ts';
import type { ControlPlaneClient } from '../../src/clients/controlPlane.ts';
import { answers, json, startService } from '../clients/faultyService.ts';
import { DEPLOYMENT_ID, deploymentAnswer, REVISION_ID, targetOn } from './activitiesUnderTest.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

const CONNECTIONS = 256;

it.each([
  ['a poll', { taskQueue: 'slipway-polls' }],
  ['a look within a workflow task', { taskQueue: 'slipway', isLocal: true }],
])('a redeploy needs no connection that %s of a silent control plane occupies', async (_, looks) => {
  const plane = await startService(({ method }, response) => {
    if (method === 'POST') json(response, 200, deploymentAnswer());
  });
  const target = targetOn(plane.url);
  const connections = new Connections();
  const ending = new AbortController();
  const calls = (info: Partial<Info>, call: (client: ControlPlaneClient) => Promise<unknown>) =>
    new MockActivityEnvironment(info).run(() => call(connections.controlPlane(target)));
  const { signal } = ending;
  const polls = Array.from({ length: CONNECTIONS }, () =>
    calls(looks, (client) => client.getDeployment(DEPLOYMENT_ID, { signal }).catch(() => undefined)),
  );
  onTestFinished(async () => {
    ending.abort();
    await Promise.all(polls);
    await connections.close();
  });
  await expect.poll(() => plane.requests.length).toBe(CONNECTIONS);
  await calls({ taskQueue: 'slipway' }, (client) => client.redeployRevision(DEPLOYMENT_ID, REVISION_ID));
  expect(plane.requests.at(-1)?.url).toContain('/redeploy');
});

it('a request that names its own address gets no key of the worker', async () => {
  const plane = await startService(answers(200, deploymentAnswer()));
  const elsewhere = await startService(answers(200, deploymentAnswer()));
  const file = join(await temporaryFolder(), 'origins.yaml');
  const target = targetOn(plane.url);
  writeFileSync(file, JSON.stringify({ [target.apiKey.from]: [new URL(plane.url).origin] }));
  vi.stubEnv('SLIPWAY_SECRET_ORIGINS', file);
  const connections = new Connections();
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await connections.close();
  });
  const read = (of: typeof target) =>
    new MockActivityEnvironment().run(() => connections.controlPlane(of).getDeployment(DEPLOYMENT_ID));
  await expect(read(target)).resolves.toMatchObject({ id: DEPLOYMENT_ID });
  await expect(
    new MockActivityEnvironment().run(async () => {
      await connections.controlPlane(targetOn(elsewhere.url)).getDeployment(DEPLOYMENT_ID);
    }),
  ).rejects.toMatchObject({ code: 'SLIPWAY_SECRET_REFUSED' });
  expect(elsewhere.requests).toEqual([]);
});

it('the agents of all targets share their connections, so that no target keeps its own', async () => {
  const ports = new Set<number | undefined>();
  const agents = await startService((_, response) => {
    ports.add(response.socket?.remotePort);
    json(response, 200, { ok: true });
  });
  const connections = new Connections();
  onTestFinished(() => connections.close());
  for (const name of ['canary', 'production']) {
    await connections.agent({ ...targetOn(agents.url), name }, `${agents.url}/${name}`).ok();
    // The pool learns afterwards that the connection is free again.
    await setImmediate();
  }
  expect(ports.size).toBe(1);
});
