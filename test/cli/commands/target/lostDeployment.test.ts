import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ScheduleNotFoundError, WorkflowNotFoundError } from '@temporalio/client';
import { expect, it, vi } from 'vitest';

import { runAuditCommand } from '../../../../src/cli/commands/audit.ts';
import { runHistoryCommand } from '../../../../src/cli/commands/history/history.ts';
import { runScheduleApply, runScheduleList } from '../../../../src/cli/commands/schedule/schedule.ts';
import { runStatusCommand } from '../../../../src/cli/commands/status/status.ts';
import type { CommandContext } from '../../../../src/cli/context.ts';
import { json, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { answeringTemporal } from '../../../temporal/client/answeringTemporal.ts';
import { testOutput } from '../../testOutput.ts';

vi.mock('../../../../src/cli/openTemporal.ts', () => ({
  withTemporal: (_: unknown, work: (temporal: unknown) => unknown) => work(emptyTemporal()),
}));

function emptyTemporal() {
  const gone = () => Promise.reject(new WorkflowNotFoundError('gone', 'target', undefined));
  const getHandle = () => ({ describe: gone, fetchHistory: gone });
  const unscheduled = () => Promise.reject(new ScheduleNotFoundError('gone', 'promotion'));
  const schedule = {
    list: () => [],
    getHandle: () => ({ describe: unscheduled }),
    create: (created: object) => schedules.push(created),
  };
  return answeringTemporal({ workflow: { getHandle, list: () => [] }, schedule });
}

const schedules: object[] = [];

it.each([
  ['status', runStatusCommand],
  ['history', runHistoryCommand],
  ['audit', runAuditCommand],
  [
    'schedule list',
    (context: CommandContext, _: undefined, options: object) => runScheduleList(context, options),
  ],
  [
    'schedule apply',
    (context: CommandContext, _: undefined, options: object) => runScheduleApply(context, options),
  ],
])('slipway %s reads the other targets if the deployment of one was deleted', async (name, run) => {
  const lost = randomUUID();
  const plane = await startService((_request, response) =>
    json(response, 404, { detail: `Deployment ID ${lost} not found` }),
  );
  const home = await temporaryFolder();
  const config = join(home, 'slipway.yaml');
  const target = `controlPlane: "${plane.url}", apiKey: { from: env:K }`;
  await writeFile(
    config,
    `targets: { lost: { ${target}, deploymentId: ${lost} }, staging: { ${target}, deployment: greeter }, production: { ${target}, deployment: p } }
promotions:
  down: { from: staging, to: lost, schedule: { cron: "0 6 * * 1" } }
  up: { from: staging, to: production, schedule: { cron: "0 6 * * 1" } }
artifact: { store: . }
`,
  );
  const output = testOutput();
  const context = { home, environment: { K: 'key' }, output };
  await expect(run(context, undefined, { config, last: 5 })).rejects.toMatchObject({
    code: 'SLIPWAY_NOT_FOUND',
    message: `there is no deployment ${lost}`,
  });
  if (name === 'schedule list') return;
  expect(output.said.join('\n')).toContain(name === 'schedule apply' ? 'up: create' : 'staging');
  if (name === 'schedule apply')
    expect(schedules).toEqual([expect.objectContaining({ scheduleId: `promotion:${plane.url}:p:up` })]);
});
