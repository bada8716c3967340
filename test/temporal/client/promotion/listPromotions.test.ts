import { WorkflowNotFoundError } from '@temporalio/client';
import { expect, it } from 'vitest';

import { promotionWorkflowId } from '../../../../src/domain/promotion/promotion.ts';
import { WORKFLOW_TYPES } from '../../../../src/messages/workflowTypes.ts';
import { listPromotions } from '../../../../src/temporal/client/promotion/promotionClient.ts';
import { keyMissing } from '../../../../src/temporal/codec/payloadCipher.ts';
import { request } from '../../../domain/target/targets.ts';
import { answeringTemporal } from '../answeringTemporal.ts';

const { target: to } = request('a');
const idOf = (name: string): string => promotionWorkflowId({ name, to });
const sealed = (): Promise<never> => Promise.reject(keyMissing({ metadata: {} }));
const none = (): Promise<never> => Promise.reject(new WorkflowNotFoundError('none', 'w', undefined));

/** A Temporal with the run "old", and the schedules "older" and "new". The key of the old ones is missing. */
function temporalWithOldKeys() {
  const action = {
    workflowType: WORKFLOW_TYPES.promotionTurn,
    args: [{ request: { name: 'new', to }, schedule: { cron: '0 3 * * *' } }],
  };
  const info = { nextActionTimes: [], recentActions: [] };
  return answeringTemporal({
    workflow: {
      list: () => [{ workflowId: idOf('old') }],
      getHandle: (workflowId: string) =>
        workflowId === idOf('old')
          ? { describe: () => Promise.resolve({ status: { name: 'COMPLETED' } }), result: sealed }
          : { describe: none },
    },
    schedule: {
      list: () => [{ scheduleId: idOf('older') }, { scheduleId: idOf('new') }],
      getHandle: (scheduleId: string) => ({
        describe: () =>
          scheduleId === idOf('older')
            ? sealed()
            : Promise.resolve({ scheduleId, action, state: { paused: false }, info }),
      }),
    },
    workflowService: { getWorkflowExecutionHistory: () => Promise.resolve({}) },
  });
}

it('promotions and schedules whose payload key is missing hide no others', async () => {
  const { promotions, sealed } = await listPromotions(temporalWithOldKeys());
  expect(promotions.map(({ request: { name } }) => name)).toEqual(['new']);
  expect([...sealed.keys()].sort()).toEqual([idOf('old'), idOf('older')].sort());
});
