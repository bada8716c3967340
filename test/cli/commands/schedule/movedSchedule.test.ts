import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ScheduleNotFoundError } from '@temporalio/client';
import { beforeEach, expect, it, vi } from 'vitest';

import { runSchedulePause } from '../../../../src/cli/commands/schedule/schedule.ts';
import { WORKFLOW_TYPES } from '../../../../src/messages/workflowTypes.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(temporal()),
}));

/** The deployments to which a schedule of "onward" leads. */
const leading = new Set<string>();
const resumed: string[] = [];

const idOf = (deployment: string): string => `promotion:http://127.0.0.1:1:${deployment}:onward`;

function temporal() {
  const getHandle = (scheduleId: string) => ({
    describe: () => {
      const deployment = [...leading].find((each) => idOf(each) === scheduleId);
      if (deployment === undefined) return Promise.reject(new ScheduleNotFoundError('gone', scheduleId));
      const to = { name: 'earlier', controlPlane: 'http://127.0.0.1:1', deployment };
      const request = { name: 'onward', from: { name: 'staging' }, to };
      const action = { workflowType: WORKFLOW_TYPES.promotionTurn, args: [{ request, schedule: {} }] };
      const info = { nextActionTimes: [], recentActions: [] };
      return Promise.resolve({ scheduleId, action, state: { paused: false }, info });
    },
    unpause: () => {
      resumed.push(scheduleId);
      return Promise.resolve();
    },
  });
  const list = () => [...leading].map((deployment) => ({ scheduleId: idOf(deployment) }));
  return answeringTemporal({ workflow: {}, schedule: { getHandle, list } });
}

const folder = useFolders();
beforeEach(() => {
  leading.clear();
  resumed.length = 0;
});

/** @param promotions - of the file. */
async function resume(promotions: string): Promise<void> {
  const config = join(folder(), 'slipway.yaml');
  const at = 'controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }';
  const targets = ['s', 'l', 'e'].map((deployment) => `t${deployment}: { ${at}, deployment: ${deployment} }`);
  await writeFile(config, `targets: { ${targets.join(', ')} }\npromotions: ${promotions}\n`);
  const context = { output: testOutput(), home: folder(), environment: {} };
  await runSchedulePause(context, false, 'onward', { config });
}

it.each([
  ['whose "to" was changed in slipway.yaml', '{ onward: { from: ts, to: te } }'],
  ['that slipway.yaml no longer has', '{}'],
])('the schedule of a promotion %s is found at its target', async (_, promotions) => {
  leading.add('l');
  await resume(promotions);
  expect(resumed).toEqual([idOf('l')]);
});

it('the schedule at the stated target goes first, and of several others none is taken', async () => {
  for (const deployment of ['s', 'l', 'e']) leading.add(deployment);
  await resume('{ onward: { from: ts, to: te } }');
  expect(resumed.splice(0)).toEqual([idOf('e')]);
  leading.delete('e');
  await expect(resume('{ onward: { from: ts, to: te } }')).rejects.toMatchObject({ code: 'SLIPWAY_USAGE' });
  leading.clear();
  await expect(resume('{}')).rejects.toMatchObject({ code: 'SLIPWAY_PROMOTION_UNKNOWN' });
  expect(resumed).toEqual([]);
});
