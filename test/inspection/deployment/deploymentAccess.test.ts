import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { withControlPlane } from '../../../src/inspection/deployment/deploymentAccess.ts';
import { testOutput } from '../../cli/testOutput.ts';

it('a key that the command needs is reported as missing where the command runs', async () => {
  const context = { output: testOutput(), home: join(tmpdir(), 'slipway-no-such-home'), environment: {} };
  const target = { controlPlane: 'http://127.0.0.1:4700', apiKey: { from: 'env:SOME_KEY' } };
  const called = withControlPlane(context, target, () => Promise.resolve('called'));
  await expect(called).rejects.toMatchObject({
    code: 'SLIPWAY_SECRET_MISSING',
    place: 'env:SOME_KEY',
    hint: 'set it here: this process calls http://127.0.0.1:4700 itself',
  });
});
