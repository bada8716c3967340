import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { beforeEach, describe, expect, it } from 'vitest';

import {
  describeHold,
  type LocalHold,
  readLocalHold,
  removeLocalHold,
  writeLocalHold,
} from '../../../../src/cli/commands/target/localHold.ts';
import { temporaryFolder } from '../../../support/temporaryFolder.ts';

let home: string;
beforeEach(async () => {
  home = await temporaryFolder();
});

const hold: LocalHold = {
  target: 'production',
  since: '2026-11-21T03:00:00.000Z',
  by: { who: 'ada', from: 'cli', reason: 'it lies' },
  to: 'revision-1',
};

describe('a hold on this machine', () => {
  it('exists until it is removed', async () => {
    expect(await readLocalHold(home, 'production')).toBeUndefined();
    await writeLocalHold(home, hold);
    expect(await readLocalHold(home, 'production')).toEqual(hold);
    expect(await readLocalHold(home, 'staging')).toBeUndefined();
    expect(await removeLocalHold(home, 'production')).toBe(true);
    expect(await removeLocalHold(home, 'production')).toBe(false);
  });

  it('is readable only by its owner', async () => {
    await writeLocalHold(home, hold);
    expect((await stat(join(home, 'holds', 'production.json'))).mode & 0o777).toBe(0o600);
  });

  it('applies even if its file is damaged', async () => {
    await mkdir(join(home, 'holds'));
    await writeFile(join(home, 'holds', 'production.json'), '{');
    await expect(readLocalHold(home, 'production')).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_ON_HOLD' });
    expect(await removeLocalHold(home, 'production')).toBe(true);
  });

  it('has its time, its person and its reason', () => {
    expect(describeHold(hold)).toBe('on hold since 2026-11-21 03:00:00Z, set by ada: it lies');
  });
});
