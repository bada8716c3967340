import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import { rehearsalOf } from '../../../../src/cli/commands/rehearsal/rehearse.ts';
import { loadConfig } from '../../../../src/config/loadConfig.ts';
import { artifactIdentity } from '../../../../src/domain/artifact/artifact.ts';
import { testOutput } from '../../testOutput.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const FILE = `
targets:
  staging: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:NOT_SET }, deployment: greeter }
  # Whose name only its control plane knows, which nobody asks.
  canary: { controlPlane: http://127.0.0.1:1, apiKey: { from: env:NOT_SET }, deploymentId: 11111111-1111-4111-8111-111111111111 }
  production:
    controlPlane: http://127.0.0.1:1
    apiKey: { from: env:NOT_SET }
    deployment: greeter-production
    approval: { required: 2 }
    freezes: [{ name: nights, from: '22:00', until: '06:00' }]
  image:
    controlPlane: http://127.0.0.1:1
    apiKey: { from: env:NOT_SET }
    deployment: greeter-image
    source: internal_image
    image: registry.example/greeter:latest
promotions:
  up: { from: staging, to: canary, soak: 1h }
  out: { from: canary, to: production, schedule: { cron: '0 10 * * *', timeZone: Europe/Berlin } }
`;

const folder = useFolders();

beforeEach(async () => {
  await writeFile(join(folder(), 'slipway.yaml'), FILE);
});

async function rehearsal(...names: string[]) {
  const context = { output: testOutput(), home: join(folder(), 'home'), environment: {} };
  const file = await loadConfig(join(folder(), 'slipway.yaml'));
  return rehearsalOf(context, file, { names, days: 7, injections: [] });
}

describe('the rehearsal of a file', () => {
  it('begins with a release on the first targets of its promotions, and calls no control plane', async () => {
    expect((await rehearsal('up', 'out')).sources).toEqual(['staging']);
    expect((await rehearsal('out')).sources).toEqual(['canary']);
  });

  it('has the promotions of the file, with the clocks of their schedules', async () => {
    const { promotions, timeZone } = await rehearsal('up', 'out');
    expect(timeZone).toBe('Europe/Berlin');
    expect(promotions).toMatchObject([
      { request: { name: 'up', soakMs: 3_600_000, from: { deployment: 'greeter' } }, schedule: null },
      {
        request: { name: 'out', approval: { required: 2 }, freezes: [{ name: 'nights' }] },
        schedule: { cron: '0 10 * * *', overlap: 'skip' },
      },
    ]);
  });

  it('releases another version each time, in the target’s form: an image under its digest', async () => {
    const { targets, release } = await rehearsal('up');
    const served = targets.map(({ spec, serves }) => [spec.name, artifactIdentity(serves)]);
    expect(new Set(served.slice(0, 3).map(([, identity]) => identity)).size).toBe(1);
    expect(served[3]).toEqual([
      'image',
      expect.stringMatching(/^image:registry\.example\/greeter:latest@sha256:[0-9a-f]{64}$/),
    ]);
    const [one, other] = [release('staging'), release('staging')];
    expect(artifactIdentity(one.artifact)).not.toBe(artifactIdentity(other.artifact));
    expect(one.requestKey).not.toBe(other.requestKey);
    expect(release('production')).toMatchObject({ approval: { required: 2 }, freezes: [{ name: 'nights' }] });
  });
});
