import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { runRollbackCommand } from '../../../../src/cli/commands/rollback/rollback.ts';
import { readLocalHold } from '../../../../src/cli/commands/target/localHold.ts';
import { slipwayHome } from '../../../../src/config/home.ts';
import {
  DEPLOYMENT_ID,
  deploymentAnswer,
  REVISION_ID,
  targetOn,
} from '../../../activities/activitiesUnderTest.ts';
import { answers, startService } from '../../../clients/faultyService.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

it.each([
  ['a release in the folder of the file looks, although the command runs in another one', false],
  ['the home is that was named', true],
])('a rollback without Temporal leaves its hold where %s', async (_where, isNamed) => {
  const { url } = await startService(answers(200, deploymentAnswer()));
  const above = await temporaryFolder();
  const folder = join(above, 'a');
  await mkdir(folder);
  const config = join(folder, 'slipway.yaml');
  const target = `{ controlPlane: "${url}", apiKey: { from: "env:KEY" }, deploymentId: ${DEPLOYMENT_ID} }`;
  await writeFile(config, `targets: { production: ${target} }\n`);

  const home = join(above, '.slipway');
  const environment = { KEY: 'the-key', ...(isNamed ? { SLIPWAY_HOME: home } : {}) };
  const options = { config, breakGlass: true, to: REVISION_ID, wait: false, timeout: 1_000 };
  const context = { output: testOutput(), home, environment };
  expect(await runRollbackCommand(context, undefined, options)).toBe(0);

  const held = targetOn(url, { deployment: 'greeter' });
  const [here, there] = isNamed ? [home, slipwayHome({}, folder)] : [slipwayHome({}, folder), home];
  expect(await readLocalHold(here, held)).toMatchObject({ to: REVISION_ID });
  expect(await readLocalHold(there, held)).toBeUndefined();
});
