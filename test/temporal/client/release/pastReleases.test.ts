import type { WorkflowExecutionDescription } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { expect, it } from 'vitest';

import { runningCallOf } from '../../../../src/temporal/client/release/pastReleases.ts';

it('a step that was paused in Temporal waits for a person, who gets the command', async () => {
  const pauseInfo = { pauseTime: msToTs(Date.UTC(2026, 10, 25, 12)) };
  const raw = {
    workflowExecutionInfo: { execution: { workflowId: 'target:x:agent/release-1' } },
    pendingActivities: [{ activityId: '7' }, { activityId: '8', pauseInfo }],
  } as unknown as WorkflowExecutionDescription['raw'];
  expect(await runningCallOf({}, { raw })).toEqual({
    says:
      'paused in Temporal; to continue: ' +
      'temporal activity unpause --workflow-id "target:x:agent/release-1" --activity-id 8',
    since: '2026-11-25T12:00:00.000Z',
    until: null,
  });
});
