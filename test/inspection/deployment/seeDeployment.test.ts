import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

// Loaded before the 2 s begin.
import '../../../src/clients/controlPlane.ts';
import { readWhatServes } from '../../../src/inspection/deployment/deploymentAccess.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  REVISION_ID,
  targetOn,
} from '../../activities/activitiesUnderTest.ts';
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
