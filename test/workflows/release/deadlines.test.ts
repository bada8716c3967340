import { Context } from '@temporalio/activity';
import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { QUICK } from '../requests.ts';
import { failure } from '../world.ts';

const SAYS = 'the artifact store answered SlowDown: reduce your request rate';
const DEADLINE_MS = 2_000;

describeWorkflows('a step whose deadline passes while an attempt hangs', (harness) => {
  it('reports the answer of the previous attempt', async () => {
    const { target } = harness.newServingTarget();
    target.world.next('uploadArtifact', () => {
      Context.current().heartbeat({ says: SAYS, since: new Date().toISOString() });
      throw failure('SLIPWAY_ARTIFACT_STORE_UNAVAILABLE', { taken: false });
    });
    target.world.next('uploadArtifact', async (perform) => {
      await Context.current().sleep(2 * DEADLINE_MS);
      return perform();
    });
    const steps = { ...QUICK, upload: { ...QUICK.upload, scheduleToCloseMs: DEADLINE_MS } };
    const { outcome, reason } = await target.release('b', { steps });
    expect({ outcome, reason }).toEqual({
      outcome: 'failed',
      reason: expect.stringContaining(`not done before its deadline; at last: ${SAYS}`) as string,
    });
  });
});
