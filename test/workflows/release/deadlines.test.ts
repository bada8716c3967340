import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';

import { Context } from '@temporalio/activity';
import { expect, it } from 'vitest';

import { describeWorkflows } from '../describeWorkflows.ts';
import { openOwnHarness } from '../projectHarness.ts';
import { GREETS, QUICK } from '../requests.ts';
import { World } from '../world.ts';
import { failure } from '../failures.ts';

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

it('a check whose deadline passes while no worker runs is begun again by the next, with what is left of its budget', async () => {
  const world = new World(`world-${randomUUID()}`);
  const taskQueue = `queue-${world.id}`;
  const startWorker = async () => (await openOwnHarness({ taskQueue })).harness;
  const first = await startWorker();
  world.next('runCheck', (perform) => {
    const spent = { runs: 1, tokens: 0, timeMs: 0 };
    Context.current().heartbeat({ says: SAYS, since: new Date().toISOString(), known: { spent } });
    return Context.current().sleep(60_000).then(perform);
  });
  const steps = { ...QUICK, check: { ...QUICK.check, scheduleToCloseMs: DEADLINE_MS } };
  const { releaseId } = await first.newTargetIn(world, {}).submit('a', {
    steps,
    checks: [GREETS, { ...GREETS, name: 'second' }],
    checksBudget: { runs: 2 },
  });
  await world.called('runCheck');
  await first.close();
  await setTimeout(DEADLINE_MS + 11_000);
  const next = await startWorker();
  const target = next.newTargetIn(world, {});
  const { verdicts, code } = await target.result(releaseId);
  expect(verdicts).toMatchObject([{ check: 'greets', passed: true }]);
  expect(code).toBe('SLIPWAY_CHECKS_BUDGET_SPENT');
  await target.idle();
  await target.terminate();
  await next.close();
});
