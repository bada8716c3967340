import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterEach, expect, it, vi } from 'vitest';

import { readLocalHold } from '../../../../src/cli/commands/target/localHold.ts';
import { buildProgram } from '../../../../src/cli/program/program.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  REVISION_ID,
  targetOn,
} from '../../../activities/activitiesUnderTest.ts';
import { answers, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

it.each([
  [
    'a release in the folder of the file looks, although the command runs in another one',
    'a/.slipway',
    '',
    '',
  ],
  ['the home is that a variable names', 'named', 'named', ''],
  ['the home is that an option names', 'named', 'other', 'named'],
])('a rollback without Temporal leaves its hold where %s', async (_where, held, variable, option) => {
  const { url } = await startService(answers(200, deploymentAnswer()));
  const above = await temporaryFolder();
  await mkdir(join(above, 'a'));
  const config = join(above, 'a', 'slipway.yaml');
  const target = `{ controlPlane: "${url}", apiKey: { from: "env:KEY" }, deploymentId: ${DEPLOYMENT_ID} }`;
  await writeFile(config, `targets: { production: ${target} }\n`);

  vi.stubEnv('KEY', 'the-key');
  vi.stubEnv('SLIPWAY_HOME', variable && join(above, variable));
  for (const stream of [process.stdout, process.stderr]) vi.spyOn(stream, 'write').mockReturnValue(true);
  const onExit = vi.fn();
  const words = ['rollback', '--config', config, '--break-glass', '--to', REVISION_ID, '--no-wait'];
  const named = option === '' ? [] : ['--home', join(above, option)];
  await buildProgram({ version: '1', onExit }).parseAsync([...words, ...named], { from: 'user' });
  expect(onExit).toHaveBeenCalledExactlyOnceWith(0);

  const spec = targetOn(url, { deployment: 'greeter' });
  for (const home of ['.slipway', 'a/.slipway', 'named', 'other']) {
    const hold = await readLocalHold(join(above, home), spec);
    expect([home, hold?.to]).toEqual([home, home === held ? REVISION_ID : undefined]);
  }
});
