import { join } from 'node:path';

import { expect, it } from 'vitest';

import { runScheduleCommand } from '../../../../src/cli/commands/schedule/schedule.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

type What = Parameters<typeof runScheduleCommand>[1];

it.each<[What, string | undefined, object, RegExp]>([
  ['trigger', 'nightly', { dryRun: true }, /^--dry-run is only for "apply"/],
  ['pause', 'nightly', { dryRun: true }, /^--dry-run is only for "apply"/],
  ['resume', 'nightly', { prune: true }, /^--prune is only for "apply"/],
  ['list', undefined, { prune: true }, /^--prune is only for "apply"/],
  ['apply', 'nightly', {}, /^"apply" is for all schedules of slipway\.yaml, not only for "nightly"/],
  ['list', 'nightly', {}, /^"list" is for all schedules of slipway\.yaml, not only for "nightly"/],
])('a schedule command that would do more than was asked changes nothing: %s %s %j', async (...asked) => {
  const [what, promotion, options, message] = asked;
  const folder = await temporaryFolder();
  const context = { output: testOutput(), home: folder, environment: {} };
  const config = join(folder, 'is-not-read.yaml');
  await expect(runScheduleCommand(context, what, promotion, { config, ...options })).rejects.toMatchObject({
    code: 'SLIPWAY_USAGE',
    message: expect.stringMatching(message) as string,
  });
});
