import { type FileHandle, open, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished, vi } from 'vitest';

import {
  describeHold,
  type LocalHold,
  readLocalHold,
  removeLocalHold,
  writeLocalHold,
} from '../../../../src/cli/commands/target/localHold.ts';
import { request } from '../../../domain/target/targets.ts';
import { useFolders } from '../../../support/temporaryFolder.ts';

const home = useFolders();

const hold: LocalHold = {
  target: 'production',
  since: '2026-11-21T03:00:00.000Z',
  by: { who: 'ada', from: 'cli', reason: 'it lies' },
  to: 'revision-1',
};

const { target } = request('any');

describe('a hold on this machine', () => {
  it('exists until it is removed', async () => {
    expect(await readLocalHold(home(), target)).toBeUndefined();
    await writeLocalHold(home(), target, hold);
    expect(await readLocalHold(home(), target)).toEqual(hold);
    expect(await removeLocalHold(home(), target)).toBe(true);
    expect(await removeLocalHold(home(), target)).toBe(false);
  });

  it("is not another project's, whose target has the same name", async () => {
    await writeLocalHold(home(), target, hold);
    expect(await readLocalHold(home(), { ...target, deployment: 'other' })).toBeUndefined();
    expect(await readLocalHold(home(), { ...target, name: 'prod' })).toEqual(hold);
  });

  it('is readable only by its owner', async () => {
    expect((await stat(await written())).mode & 0o777).toBe(0o600);
  });

  it.each(['', '{', '\0\0', 'null', '[]', '{}', '{"since":"2026-11-21T03:00:00.000Z","by":{}}'])(
    'applies even if its file is damaged: %j',
    async (content) => {
      await writeFile(await written(), content);
      await expect(readLocalHold(home(), target)).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_ON_HOLD' });
      expect(await removeLocalHold(home(), target)).toBe(true);
    },
  );

  it('applies even if the disk is full', async () => {
    const handle = await open(await written());
    await handle.close();
    await removeLocalHold(home(), target);
    const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
    const writing = vi
      .spyOn(Object.getPrototypeOf(handle) as FileHandle, 'writeFile')
      .mockRejectedValueOnce(full);
    onTestFinished(() => writing.mockRestore());
    expect(await writeLocalHold(home(), target, hold)).toBe(true);
    await expect(readLocalHold(home(), target)).rejects.toMatchObject({ code: 'SLIPWAY_TARGET_ON_HOLD' });
    expect(await removeLocalHold(home(), target)).toBe(true);
  });

  it('has its time, its person and its reason', () => {
    expect(describeHold(hold)).toBe('on hold since 2026-11-21 03:00:00Z, set by ada: it lies');
  });
});

/** The file of a hold. */
async function written(): Promise<string> {
  await writeLocalHold(home(), target, hold);
  const [name = ''] = await readdir(join(home(), 'holds'));
  return join(home(), 'holds', name);
}
