import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { holdLines, runHoldCommand } from '../../../../src/cli/commands/target/blocks.ts';
import { readLocalHold, writeLocalHold } from '../../../../src/cli/commands/target/localHold.ts';
import { request } from '../../../domain/target/targets.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';
import { testOutput } from '../../testOutput.ts';

const ADA = { who: 'ada', from: 'cli', reason: 'an incident' };
const HOLD = { since: '2026-11-21T03:00:00.000Z', by: ADA };

it('hold says who holds the target since when and why, and that a second reason changes nothing', () => {
  const [held = ''] = holdLines('production', HOLD, ADA);
  expect(held).toMatch(/^on hold since 2026-11-21.*, set by ada: an incident$/);
  expect(holdLines('production', HOLD, ADA)).toEqual([held]);
  expect(holdLines('production', HOLD, { ...ADA, who: 'bo' })).toEqual([
    held,
    'it was on hold before, so that reason stays; to replace it: slipway unhold production, then hold it again',
  ]);
});

it('unhold ends no hold on this machine while Temporal does not answer: it would report that nothing was done', async () => {
  const home = await temporaryFolder();
  const config = join(home, 'slipway.yaml');
  const at = '{ controlPlane: "http://127.0.0.1:1", apiKey: { from: "env:KEY" }, deployment: greeter }';
  await writeFile(config, `targets: { production: ${at} }\n`);
  const { target } = request('any');
  const held = { ...target, controlPlane: 'http://127.0.0.1:1', deployment: 'greeter' };
  await writeLocalHold(home, held, { target: 'production', ...HOLD, to: 'revision-1' });
  const context = {
    output: testOutput(),
    home,
    environment: { TEMPORAL_ADDRESS: '127.0.0.1:1', SLIPWAY_HOME: home },
  };
  const ended = runHoldCommand(context, false, undefined, { config });
  await expect(ended).rejects.toMatchObject({ code: 'SLIPWAY_TEMPORAL_UNREACHABLE' });
  expect(await readLocalHold(home, held)).toBeDefined();
});
