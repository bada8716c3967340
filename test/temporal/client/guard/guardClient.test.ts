import { WorkflowFailedError, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';

import { seeGuard } from '../../../../src/temporal/client/guard/guardClient.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

const workflowId = 'guard:target:x:agent/release-7';
const closeTime = new Date('2026-11-25T12:00:00.000Z');

it.each([
  ['terminated', () => Promise.resolve({ status: { name: 'TERMINATED' }, closeTime, raw: {} })],
  ['deleted', () => Promise.reject(new WorkflowNotFoundError('gone', workflowId, undefined))],
])(
  'a guard that was %s in Temporal does not go on, although its target does not know it',
  async (how, describe) => {
    const handle = {
      workflowId,
      describe,
      result: () => Promise.reject(new WorkflowFailedError('terminated', undefined, 'NON_RETRYABLE_FAILURE')),
    };
    const temporal = answeringTemporal({ workflow: { getHandle: () => handle } });
    const seen = await seeGuard(temporal, workflowId);
    expect(seen).toEqual({
      measured: null,
      report: {
        releaseId: 'release-7',
        at: how === 'deleted' ? expect.any(String) : closeTime.toISOString(),
        verdict: 'unknown',
        note: `its workflow was ${how} in Temporal`,
      },
    });
  },
);
