import { describe, expect, it } from 'vitest';

import { QUERY_TOO_EARLY } from '../../../src/messages/earlyQuery.ts';
import { type ListedPreview, withStuckTasks } from '../../../src/temporal/client/preview/previewClient.ts';
import { findStuckTask, refuseStuck } from '../../../src/temporal/client/stuckTask.ts';
import { COMPLETED, failed, stuckTemporal, type ToldWorkflow } from './stuckTemporal.ts';

const BROKEN = failed('[TMPRL1100] Nondeterminism error');

describe('a workflow', () => {
  it.each<[string, ToldWorkflow]>([
    ['no task of which waits', { events: [BROKEN] }],
    ['that was terminated while it was stuck', { attempt: 9, events: [BROKEN], status: 'TERMINATED' }],
    ['whose task failed twice', { attempt: 2, events: [BROKEN] }],
    ['that completed a task after the failure', { attempt: 9, events: [BROKEN, COMPLETED] }],
    ['whose task only times out', { attempt: 9, events: [COMPLETED] }],
    ['whose task was refused after a query', { attempt: 9, events: [failed(`Failure: ${QUERY_TOO_EARLY}`)] }],
  ])('%s is not stuck', async (_, told) => {
    const { temporal } = stuckTemporal({ 'target:t': told });
    expect(await findStuckTask(temporal, 'target:t')).toBeUndefined();
  });

  it('whose task failed three times is stuck, and commands report the cause and the remedy', async () => {
    const { temporal } = stuckTemporal({ 'target:t': { attempt: 3, events: [COMPLETED, BROKEN] } });
    expect(await findStuckTask(temporal, 'target:t')).toEqual({
      workflowId: 'target:t',
      runId: 'run of target:t',
      isTarget: true,
      attempts: 3,
      cause: '[TMPRL1100] Nondeterminism error',
    });
    await expect(refuseStuck(temporal, 'target:t')).rejects.toMatchObject({
      code: 'SLIPWAY_WORKFLOW_STUCK',
      message: expect.stringContaining('[TMPRL1100]') as string,
      hint: expect.stringContaining('slipway doctor --fix') as string,
    });
  });
});

it('a preview is listed with the target that is stuck, and the remedy', async () => {
  const stuck = { attempt: 3, events: [BROKEN] };
  const { temporal } = stuckTemporal({
    'preview:p:pr-7': {},
    'target:preview:p:pr-7': stuck,
    'preview:p:pr-8': {},
  });
  const listed = ['preview:p:pr-7', 'preview:p:pr-8'].map(
    (workflowId) => ({ workflowId, problem: null }) as ListedPreview,
  );
  const [held, other] = await withStuckTasks(temporal, listed);
  expect(held?.problem).toBe(
    'workers cannot continue target:preview:p:pr-7: its task failed 3 times in a row: [TMPRL1100] Nondeterminism error; end it: slipway doctor --fix',
  );
  expect(other?.problem).toBeNull();
});
